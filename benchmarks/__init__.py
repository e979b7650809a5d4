"""The suite that holds the runtime against its peers; see README.md in this folder."""
