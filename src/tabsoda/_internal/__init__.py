"""Internal building blocks that every package uses: randomness, threads, atomic files."""
