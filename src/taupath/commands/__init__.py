"""The subcommands, one file each; what is heavy is imported when one of them runs."""
