cp "$VECTORS"/*/*.sion* .
trap '! mountpoint -q view || sheaf umount --lazy view' EXIT
@SNIPPET@
