"""The proof at scale: workloads and histories on Spark, and the audits that say which guarantees held."""
