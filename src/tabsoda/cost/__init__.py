"""What a run will take, estimated before it starts: counted work times measured constants."""
