cp "$VECTORS"/*/*.sion* .
@SNIPPET@
