"""How good is it: metrics of skip masks against a reference."""
