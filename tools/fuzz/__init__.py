"""Random problems, and a judge of their solutions that is independent of the library."""
