/* sion_conformance_writer < DESCRIPTION: writes one multifile through the serial SION interface, following a
 * description (sion_conformance_script.h). The exit status is 0, or 1 with a message on failure. */
#include "sion_conformance_script.h"

int main(void) {
  char* text = read_all(stdin);
  struct script script = parse_script(text);
  struct progress* done = allocate((size_t)script.ntasks, sizeof *done);
  for (int task = 0; task < script.ntasks; task++)
    done[task] = (struct progress){script.written[task], script.records[task]};
  FILE* fileptr = NULL;
  const int sid =
      sion_open(script.name, script.mode, &script.ntasks, &script.numfiles, &script.chunks, &script.fsblksize,
                &script.globalranks, strcmp(script.via, "file") ? NULL : &fileptr);
  if (sid < 0) fail(0, "sion_open failed");
  for (size_t i = 0; i < script.nops; i++) {
    const struct op* op = &script.ops[i];
    if (op->kind == OP_COLLWRITE) fail(op->line, "collwrite needs sion_paropen_mpi");
    if (op->kind == OP_DIE) _exit(0);
    if (!sion_seek(sid, op->rank, SION_CURRENT_BLK, SION_CURRENT_POS)) fail(op->line, "sion_seek failed");
    apply_op(&script, op, op->rank, sid, &done[op->rank]);
  }
  if (sion_close(sid) != SION_SUCCESS) fail(0, "sion_close failed");
  free(done);
  free_script(&script);
  free(text);
  return 0;
}
