"""Model files: configuration, weights, catalog, download and verification."""
