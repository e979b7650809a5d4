"""Every form of JSON that tauto prints, keeps or reads: its type, its version, and the page that says so."""
