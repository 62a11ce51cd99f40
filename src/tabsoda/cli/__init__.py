"""The commands: parse, call the public functions, print. Heavy imports happen inside a command."""
