/* Views and transfers that the standard forbids, one row for each. They must be rejected with the class of
 * the error, and the file must stay usable with its previous view. See views.h. */
#include <string.h>

#include "views.h"

enum { any_error = -2 }; /* the standard names no class */

static MPI_Datatype shape_named(const char* name) {
  for (int i = 0; i < shape_count; ++i)
    if (strcmp(shapes[i].name, name) == 0) return committed(shapes[i].make(MPI_INT, 0, 1));
  return MPI_DATATYPE_NULL;
}

struct refused_view {
  const char* name;
  int read_only; /* open for reading */
  MPI_Offset displacement;
  const char* shape; /* name of a shape of ints; "" is MPI_INT itself, null is MPI_DATATYPE_NULL */
  MPI_Datatype (*etype)(void);
  const char* datarep;
  int expected;
};

static MPI_Datatype ints(void) { return MPI_INT; }
static MPI_Datatype doubles(void) { return MPI_DOUBLE; }
static MPI_Datatype none(void) { return MPI_DATATYPE_NULL; }

static const struct refused_view* view_rows(int* count) {
  static const struct refused_view rows[] = {
      {"offsets go back", 0, 0, "decreasing", ints, "native", MPI_ERR_IO},
      {"offsets go back, read only", 1, 0, "decreasing", ints, "native", MPI_ERR_IO},
      {"negative stride", 0, 4000, "negative_stride", ints, "native", MPI_ERR_IO},
      {"data before the displacement", 0, 4000, "before_the_address", ints, "native", MPI_ERR_IO},
      {"a byte twice", 0, 0, "byte_twice", ints, "native", MPI_ERR_IO},
      {"a byte twice, read only", 1, 0, "byte_twice", ints, "native", MPI_SUCCESS},
      {"negative displacement", 0, -1, "vector", ints, "native", MPI_ERR_ARG},
      {"file type no multiple of the etype", 0, 0, "contiguous", doubles, "native", MPI_ERR_ARG},
      {"no etype", 0, 0, "vector", none, "native", MPI_ERR_TYPE},
      {"no file type", 0, 0, NULL, ints, "native", MPI_ERR_TYPE},
      {"unknown representation", 0, 0, "", ints, "no such thing", MPI_ERR_UNSUPPORTED_DATAREP},
      {"displacement of a sequential file", 0, MPI_DISPLACEMENT_CURRENT, "", ints, "native", MPI_ERR_ARG},
      {"right", 0, 12, "vector", ints, "native", MPI_SUCCESS},
      {"right, read only", 1, 12, "vector", ints, "native", MPI_SUCCESS},
  };
  *count = sizeof rows / sizeof *rows;
  return rows;
}

/* Requires that a row of ints written through the current view reads back unchanged. */
static void usable(MPI_File file, int read_only) {
  int mine[6], back[6] = {0};
  for (int i = 0; i < 6; ++i) mine[i] = 100 * rank + i;
  if (read_only) {
    gives(MPI_File_read_at_all(file, 0, back, 3, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS,
          "reading afterwards");
    return;
  }
  gives(MPI_File_write_at_all(file, 6 * rank, mine, 6, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS,
        "writing afterwards");
  gives(MPI_File_read_at_all(file, 6 * rank, back, 6, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS,
        "reading afterwards");
  check(memcmp(mine, back, sizeof back) == 0, "what was written afterwards does not come back");
}

static void refused(int code, int expected, const char* call) {
  if (expected == any_error)
    check(code != MPI_SUCCESS, "%s: expected an error, found none", call);
  else
    gives(code, expected, call);
}

static void views(const char* path) {
  int count;
  const struct refused_view* rows = view_rows(&count);
  for (int r = 0; r < count; ++r) {
    const struct refused_view* row = &rows[r];
    const int amode = row->read_only ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE;
    MPI_File file = MPI_FILE_NULL;
    now("refused view: %s", row->name);
    gives(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file), MPI_SUCCESS, "MPI_File_open");
    gives(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS,
          "a view before");
    MPI_Datatype type = !row->shape ? MPI_DATATYPE_NULL : *row->shape ? shape_named(row->shape) : MPI_INT;
    const int code =
        MPI_File_set_view(file, row->displacement, row->etype(), type, row->datarep, MPI_INFO_NULL);
    refused(code, row->expected, "MPI_File_set_view");
    if (row->expected != MPI_SUCCESS) {
      MPI_Offset at = -1;
      gives(MPI_File_get_byte_offset(file, 5, &at), MPI_SUCCESS, "MPI_File_get_byte_offset");
      is(at, 28, "byte offset in the view that was there before");
      /* Unless all tasks set another view, the next collective transfer returns the error on the other
       * tasks. */
      gives(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS,
            "the view again");
    }
    usable(file, row->read_only);
    gives(MPI_File_close(&file), MPI_SUCCESS, "MPI_File_close");
    if (row->shape && *row->shape) MPI_Type_free(&type);
  }
}

/* Transfers and pointers on a view of every other int, beginning at byte 8. */

static int data[64];
#define CASE(name) static int name(MPI_File f)
#define TO data, 1, MPI_INT, MPI_STATUS_IGNORE

CASE(write_at_negative_offset) { return MPI_File_write_at(f, -1, TO); }
CASE(read_at_negative_offset) { return MPI_File_read_at(f, -1, TO); }
CASE(write_at_all_negative_offset) { return MPI_File_write_at_all(f, -1, TO); }
CASE(read_at_all_negative_offset) { return MPI_File_read_at_all(f, -7, TO); }
CASE(write_negative_count) { return MPI_File_write(f, data, -1, MPI_INT, MPI_STATUS_IGNORE); }
CASE(read_all_negative_count) { return MPI_File_read_all(f, data, -1, MPI_INT, MPI_STATUS_IGNORE); }
CASE(write_ordered_negative_count) { return MPI_File_write_ordered(f, data, -1, MPI_INT, MPI_STATUS_IGNORE); }
CASE(write_no_type) { return MPI_File_write(f, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE); }
CASE(read_all_no_type) { return MPI_File_read_all(f, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE); }
CASE(write_part_of_etype) { return MPI_File_write(f, data, 3, MPI_CHAR, MPI_STATUS_IGNORE); }
CASE(read_part_of_etype) { return MPI_File_read(f, data, 3, MPI_CHAR, MPI_STATUS_IGNORE); }
CASE(write_all_part_of_etype) { return MPI_File_write_all(f, data, 5, MPI_CHAR, MPI_STATUS_IGNORE); }
CASE(seek_before_begin) { return MPI_File_seek(f, -1, MPI_SEEK_SET); }
CASE(seek_back_too_far) { return MPI_File_seek(f, -1000, MPI_SEEK_CUR); }
CASE(seek_back_from_end) { return MPI_File_seek(f, -100000, MPI_SEEK_END); }
CASE(seek_no_such_way) { return MPI_File_seek(f, 0, 12345); }
CASE(seek_shared_before_begin) { return MPI_File_seek_shared(f, -1, MPI_SEEK_SET); }
CASE(seek_shared_different) { return tasks == 1 ? MPI_ERR_ARG : MPI_File_seek_shared(f, rank, MPI_SEEK_SET); }
CASE(set_size_negative) { return MPI_File_set_size(f, -1); }
CASE(preallocate_negative) { return MPI_File_preallocate(f, -1); }
CASE(byte_offset_negative) {
  MPI_Offset at;
  return MPI_File_get_byte_offset(f, -1, &at);
}
CASE(end_without_begin) { return MPI_File_write_all_end(f, data, MPI_STATUS_IGNORE); }
CASE(second_begin) {
  if (MPI_File_read_all_begin(f, data, 1, MPI_INT) != MPI_SUCCESS) return MPI_SUCCESS;
  const int code = MPI_File_read_all_begin(f, data + 1, 1, MPI_INT);
  gives(MPI_File_read_all_end(f, data, MPI_STATUS_IGNORE), MPI_SUCCESS, "the end of the first");
  return code;
}
/* Instances interleave, and later ones overlap: int 2 is the second int of instance 0 and the first of
 * instance 2. */
CASE(write_overlapping_instances) {
  MPI_Datatype type;
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){0, 2}, MPI_INT, &type);
  type = committed(resized(type, 0, 4));
  gives(MPI_File_set_view(f, 1000 * rank, MPI_INT, type, "native", MPI_INFO_NULL), MPI_SUCCESS,
        "MPI_File_set_view");
  gives(MPI_File_write_at_all(f, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS, "two instances");
  const int code = MPI_File_write_at_all(f, 0, data, 6, MPI_INT, MPI_STATUS_IGNORE);
  check(MPI_File_write_at(f, 0, data, 6, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "writing alone: expected an error");
  gives(MPI_File_read_at_all(f, 0, data + 8, 6, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS, "reading them");
  MPI_Type_free(&type);
  return code;
}

#define ROW(name, class) \
  { #name, name, class }
static const struct {
  const char* name;
  int (*call)(MPI_File);
  int expected;
} calls[] = {
    ROW(write_at_negative_offset, MPI_ERR_ARG),
    ROW(read_at_negative_offset, MPI_ERR_ARG),
    ROW(write_at_all_negative_offset, MPI_ERR_ARG),
    ROW(read_at_all_negative_offset, MPI_ERR_ARG),
    ROW(write_negative_count, MPI_ERR_COUNT),
    ROW(read_all_negative_count, MPI_ERR_COUNT),
    ROW(write_ordered_negative_count, MPI_ERR_COUNT),
    ROW(write_no_type, MPI_ERR_TYPE),
    ROW(read_all_no_type, MPI_ERR_TYPE),
    ROW(write_part_of_etype, MPI_ERR_IO),
    ROW(read_part_of_etype, MPI_ERR_IO),
    ROW(write_all_part_of_etype, MPI_ERR_IO),
    ROW(seek_before_begin, MPI_ERR_ARG),
    ROW(seek_back_too_far, MPI_ERR_ARG),
    ROW(seek_back_from_end, MPI_ERR_ARG),
    ROW(seek_no_such_way, MPI_ERR_ARG),
    ROW(seek_shared_before_begin, MPI_ERR_ARG),
    ROW(seek_shared_different, MPI_ERR_ARG),
    ROW(set_size_negative, MPI_ERR_ARG),
    ROW(preallocate_negative, MPI_ERR_ARG),
    ROW(byte_offset_negative, MPI_ERR_ARG),
    ROW(end_without_begin, any_error),
    ROW(second_begin, any_error),
    ROW(write_overlapping_instances, any_error),
};

void run_refused(const char* path) {
  views(path);
  MPI_File file = MPI_FILE_NULL;
  now("refused calls");
  gives(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        MPI_SUCCESS, "opening");
  MPI_Datatype other;
  MPI_Type_vector(1, 1, 1, MPI_INT, &other);
  other = committed(resized(other, 0, 8));
  for (size_t r = 0; r < sizeof calls / sizeof *calls; ++r) {
    now("refused call: %s", calls[r].name);
    gives(MPI_File_set_view(file, 8, MPI_INT, other, "native", MPI_INFO_NULL), MPI_SUCCESS,
          "MPI_File_set_view");
    refused(calls[r].call(file), calls[r].expected, "the call");
    gives(MPI_File_set_view(file, 8, MPI_INT, other, "native", MPI_INFO_NULL), MPI_SUCCESS,
          "the view afterwards");
    usable(file, 0);
  }
  MPI_Type_free(&other);
  gives(MPI_File_close(&file), MPI_SUCCESS, "MPI_File_close");
}
