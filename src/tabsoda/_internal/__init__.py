"""What every stage shares and no user sees: randomness, devices, atomic files."""
