"""The receiver's side of webhooks. Internal: callers import from `platen_client`."""
