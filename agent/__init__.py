"""The agent: plan, retrieve, read, record, decide, answer, verify; and the trajectory it leaves."""
