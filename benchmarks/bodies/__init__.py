"""What each benchmark measures, one file a subject: the functions that suite.toml names."""
