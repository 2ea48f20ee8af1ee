"""What commands share beside their options: how files are named, where results go, what a shell completes."""
