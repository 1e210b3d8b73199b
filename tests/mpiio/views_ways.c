/* The ways of views: every pair of calls that moves data, with one common signature. See views.h. */
#include "views.h"

static int waited(int code, MPI_Request* request, MPI_Status* status) {
  return code != MPI_SUCCESS ? code : MPI_Wait(request, status);
}

#define CALL(kind, name) \
  static int kind##_##name(MPI_File f, MPI_Offset at, const struct buffer* b, MPI_Status* s)
#define WHAT b->address, b->count, b->type

/* One of the forms of a call: by a file pointer, at an offset, nonblocking, or split into begin and end. */
#define PLAIN(name) \
  CALL(plain, name) { return (void)at, MPI_File_##name(f, WHAT, s); }
#define PLAIN_AT(name) \
  CALL(plain, name) { return MPI_File_##name(f, at, WHAT, s); }
#define LATER(name)                                                           \
  CALL(later, name) {                                                         \
    MPI_Request request;                                                      \
    return (void)at, waited(MPI_File_##name(f, WHAT, &request), &request, s); \
  }
#define LATER_AT(name)                                                  \
  CALL(later, name) {                                                   \
    MPI_Request request;                                                \
    return waited(MPI_File_##name(f, at, WHAT, &request), &request, s); \
  }
#define SPLIT(name)                                                                        \
  CALL(split, name) {                                                                      \
    const int code = MPI_File_##name##_begin(f, WHAT);                                     \
    return (void)at, code != MPI_SUCCESS ? code : MPI_File_##name##_end(f, b->address, s); \
  }
#define SPLIT_AT(name)                                                           \
  CALL(split, name) {                                                            \
    const int code = MPI_File_##name##_begin(f, at, WHAT);                       \
    return code != MPI_SUCCESS ? code : MPI_File_##name##_end(f, b->address, s); \
  }
#define BOTH(form, end) form(write##end) form(read##end)
#define BOTH_LATER(form, end) form(iwrite##end) form(iread##end)

BOTH(PLAIN, )
BOTH(PLAIN, _all)
BOTH(PLAIN, _shared)
BOTH(PLAIN, _ordered)
BOTH(PLAIN_AT, _at)
BOTH(PLAIN_AT, _at_all)
BOTH_LATER(LATER, )
BOTH_LATER(LATER, _all)
BOTH_LATER(LATER, _shared)
BOTH_LATER(LATER_AT, _at)
BOTH_LATER(LATER_AT, _at_all)
BOTH(SPLIT, _all)
BOTH(SPLIT, _ordered)
BOTH(SPLIT_AT, _at_all)

const struct way ways[] = {
    {"at", plain_write_at, plain_read_at, explicit_offset},
    {"at_all", plain_write_at_all, plain_read_at_all, explicit_offset},
    {"by pointer", plain_write, plain_read, own_pointer},
    {"all", plain_write_all, plain_read_all, own_pointer},
    {"shared", plain_write_shared, plain_read_shared, shared_pointer},
    {"ordered", plain_write_ordered, plain_read_ordered, ordered_pointer},
    {"iat", later_iwrite_at, later_iread_at, explicit_offset},
    {"iat_all", later_iwrite_at_all, later_iread_at_all, explicit_offset},
    {"i by pointer", later_iwrite, later_iread, own_pointer},
    {"iall", later_iwrite_all, later_iread_all, own_pointer},
    {"ishared", later_iwrite_shared, later_iread_shared, shared_pointer},
    {"at_all begin/end", split_write_at_all, split_read_at_all, explicit_offset},
    {"all begin/end", split_write_all, split_read_all, own_pointer},
    {"ordered begin/end", split_write_ordered, split_read_ordered, ordered_pointer},
    {"written at_all, read at", plain_write_at_all, plain_read_at, explicit_offset},
    {"written at, read at_all", plain_write_at, plain_read_at_all, explicit_offset},
};
const int way_count = sizeof ways / sizeof *ways;
