"""Mine the routing rules of a questionnaire from its blanks, and apply and check them."""
