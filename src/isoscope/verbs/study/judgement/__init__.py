"""How claims are judged: scope, cases, evidence, and the decision."""
