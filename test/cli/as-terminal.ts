/** Loaded before a command: its output is a terminal, as far as it can see. Tests need no pseudo terminal, which not every machine has. */
process.stdout.isTTY = true;
