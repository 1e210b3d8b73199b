/* Failing calls and their error classes (MPI 3.1, section 13.7), one per row. Each call must return a code
 * of the class, and the code must have a text. The handler of the file must be called once with the code,
 * and the file must stay usable. All tasks make collective calls. See handlers.c. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handlers.h"

static char path[600], missing[700], directory[600], missing_path[700], readable[700];
static char data[64];
#define S MPI_STATUS_IGNORE
#define N MPI_INFO_NULL
#define CALL(name) static int name(MPI_File f)

CALL(read_at_negative) { return MPI_File_read_at(f, -1, data, 1, MPI_BYTE, S); }
CALL(write_at_all_negative) { return MPI_File_write_at_all(f, -1, data, 1, MPI_BYTE, S); }
CALL(write_at_all_begin_negative) { return MPI_File_write_at_all_begin(f, -1, data, 1, MPI_BYTE); }
CALL(read_count) { return MPI_File_read(f, data, -1, MPI_BYTE, S); }
CALL(write_ordered_count) { return MPI_File_write_ordered(f, data, -1, MPI_BYTE, S); }
CALL(read_shared_count) { return MPI_File_read_shared(f, data, -1, MPI_BYTE, S); }
CALL(write_type) { return MPI_File_write(f, data, 1, MPI_DATATYPE_NULL, S); }
CALL(read_all_type) { return MPI_File_read_all(f, data, 1, MPI_DATATYPE_NULL, S); }
CALL(seek_before) { return MPI_File_seek(f, -1, MPI_SEEK_SET); }
CALL(seek_whence) { return MPI_File_seek(f, 0, 4711); }
CALL(seek_shared_before) { return MPI_File_seek_shared(f, -1, MPI_SEEK_SET); }
CALL(size_negative) { return MPI_File_set_size(f, -1); }
CALL(preallocate_negative) { return MPI_File_preallocate(f, -1); }
CALL(view_displacement) { return MPI_File_set_view(f, -1, MPI_BYTE, MPI_BYTE, "native", N); }
CALL(view_representation) { return MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "nonsense", N); }
CALL(view_current) { return MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", N); }
CALL(write_read_only) { return MPI_File_write(f, data, 1, MPI_BYTE, S); }
CALL(write_at_all_read_only) { return MPI_File_write_at_all(f, 0, data, 1, MPI_BYTE, S); }
CALL(write_shared_read_only) { return MPI_File_write_shared(f, data, 1, MPI_BYTE, S); }
CALL(size_read_only) { return MPI_File_set_size(f, 10); }
CALL(preallocate_read_only) { return MPI_File_preallocate(f, 100000); }
CALL(read_write_only) { return MPI_File_read(f, data, 1, MPI_BYTE, S); }
CALL(read_ordered_write_only) { return MPI_File_read_ordered(f, data, 1, MPI_BYTE, S); }
CALL(sequential_read_at) { return MPI_File_read_at(f, 0, data, 1, MPI_BYTE, S); }
CALL(sequential_write_all) { return MPI_File_write_all(f, data, 1, MPI_BYTE, S); }
CALL(sequential_seek) { return MPI_File_seek(f, 0, MPI_SEEK_SET); }
CALL(sequential_position) {
  MPI_Offset at;
  return MPI_File_get_position(f, &at);
}
CALL(sequential_seek_shared) { return MPI_File_seek_shared(f, 0, MPI_SEEK_SET); }

enum {
  r = MPI_MODE_RDONLY,
  w = MPI_MODE_WRONLY,
  rw = MPI_MODE_RDWR,
  sequential = MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL
};
#define ROW(call, amode, class) \
  { #call, call, amode, class }
static const struct {
  const char* name;
  int (*call)(MPI_File);
  int amode, class;
} on_files[] = {
    ROW(read_at_negative, rw, MPI_ERR_ARG),
    ROW(write_at_all_negative, rw, MPI_ERR_ARG),
    ROW(write_at_all_begin_negative, rw, MPI_ERR_ARG),
    ROW(read_count, rw, MPI_ERR_COUNT),
    ROW(write_ordered_count, rw, MPI_ERR_COUNT),
    ROW(read_shared_count, rw, MPI_ERR_COUNT),
    ROW(write_type, rw, MPI_ERR_TYPE),
    ROW(read_all_type, rw, MPI_ERR_TYPE),
    ROW(seek_before, rw, MPI_ERR_ARG),
    ROW(seek_whence, rw, MPI_ERR_ARG),
    ROW(seek_shared_before, rw, MPI_ERR_ARG),
    ROW(size_negative, rw, MPI_ERR_ARG),
    ROW(preallocate_negative, rw, MPI_ERR_ARG),
    ROW(view_displacement, rw, MPI_ERR_ARG),
    ROW(view_representation, rw, MPI_ERR_UNSUPPORTED_DATAREP),
    ROW(view_current, rw, MPI_ERR_ARG),
    ROW(write_read_only, r, MPI_ERR_READ_ONLY),
    ROW(write_at_all_read_only, r, MPI_ERR_READ_ONLY),
    ROW(write_shared_read_only, r, MPI_ERR_READ_ONLY),
    ROW(size_read_only, r, MPI_ERR_READ_ONLY),
    ROW(preallocate_read_only, r, MPI_ERR_READ_ONLY),
    ROW(read_write_only, w, MPI_ERR_ACCESS),
    ROW(read_ordered_write_only, w, MPI_ERR_ACCESS),
    ROW(sequential_read_at, sequential, MPI_ERR_UNSUPPORTED_OPERATION),
    ROW(sequential_write_all, sequential, MPI_ERR_UNSUPPORTED_OPERATION),
    ROW(sequential_seek, sequential, MPI_ERR_UNSUPPORTED_OPERATION),
    ROW(sequential_position, sequential, MPI_ERR_UNSUPPORTED_OPERATION),
    ROW(sequential_seek_shared, sequential, MPI_ERR_UNSUPPORTED_OPERATION),
};

/* Calls without an open file. They must call the handler of MPI_FILE_NULL. */
static const struct {
  const char *name, *file;
  int amode, class;
} opens[] = {
    {"nothing there", missing, r, MPI_ERR_NO_SUCH_FILE},
    {"no directory", missing_path, rw | MPI_MODE_CREATE, MPI_ERR_NO_SUCH_FILE},
    {"already there", path, rw | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_ERR_FILE_EXISTS},
    {"a directory", directory, rw | MPI_MODE_CREATE, MPI_ERR_BAD_FILE},
    {"no way to open", path, MPI_MODE_CREATE, MPI_ERR_AMODE},
    {"two ways to open", path, r | rw, MPI_ERR_AMODE},
    {"created for reading", path, r | MPI_MODE_CREATE, MPI_ERR_AMODE},
    {"exclusive for reading", path, r | MPI_MODE_EXCL, MPI_ERR_AMODE},
    {"sequential for both", path, rw | MPI_MODE_SEQUENTIAL, MPI_ERR_AMODE},
    {"a part of a file as a directory", readable, rw | MPI_MODE_CREATE, MPI_ERR_BAD_FILE},
};

static void has_text(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING + 1];
  int length = -1;
  memset(text, '#', sizeof text);
  gives(MPI_Error_string(code, text, &length), MPI_SUCCESS, "MPI_Error_string");
  check(length > 0 && length < MPI_MAX_ERROR_STRING && strnlen(text, sizeof text) == (size_t)length,
        "%s: a text of %d bytes that ends at %d", call, length, (int)strnlen(text, sizeof text));
}

static void usable(MPI_File file, int amode) {
  if (amode & MPI_MODE_SEQUENTIAL) return;
  /* The next collective transfer would report the rejected view, unless all tasks set another one. */
  gives(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", N), MPI_SUCCESS, "a view afterwards");
  if (amode & w)
    gives(MPI_File_write_at(file, rank, data, 1, MPI_BYTE, S), MPI_SUCCESS, "writing afterwards");
  else
    gives(MPI_File_read_at_all(file, rank, data, 1, MPI_BYTE, S), MPI_SUCCESS, "reading afterwards");
}

static void on_open_files(void) {
  for (size_t i = 0; i < sizeof on_files / sizeof *on_files; ++i) {
    const int amode = on_files[i].amode == sequential ? w | MPI_MODE_SEQUENTIAL : on_files[i].amode;
    const int reads = strncmp(on_files[i].name, "sequential_read", 15) == 0;
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler a = made('a');
    now("class of %s", on_files[i].name);
    const int mode = reads ? r | MPI_MODE_SEQUENTIAL : amode;
    gives(MPI_File_open(MPI_COMM_WORLD, path, mode, N, &file), MPI_SUCCESS, "opening");
    MPI_File_set_errhandler(file, a);
    MPI_Errhandler_free(&a);
    const int code = on_files[i].call(file);
    gives(code, on_files[i].class, "the call");
    called_once('a', file, on_files[i].class, "the call");
    has_text(code, on_files[i].name);
    usable(file, mode);
    nobody_called("handlers called afterwards");
    gives(MPI_File_close(&file), MPI_SUCCESS, "closing");
  }
}

static void on_no_file(void) {
  for (size_t i = 0; i < sizeof opens / sizeof *opens; ++i) {
    MPI_File file = MPI_FILE_NULL;
    now("class of opening: %s", opens[i].name);
    const int code = MPI_File_open(MPI_COMM_WORLD, opens[i].file, opens[i].amode, N, &file);
    gives(code, opens[i].class, "MPI_File_open");
    called_once('a', MPI_FILE_NULL, opens[i].class, "MPI_File_open");
    has_text(code, opens[i].name);
    if (file != MPI_FILE_NULL) MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Classes are codes, and have texts. */
static void classes_are_codes(void) {
  static const int all[] = {MPI_ERR_FILE,
                            MPI_ERR_NOT_SAME,
                            MPI_ERR_AMODE,
                            MPI_ERR_UNSUPPORTED_DATAREP,
                            MPI_ERR_UNSUPPORTED_OPERATION,
                            MPI_ERR_NO_SUCH_FILE,
                            MPI_ERR_FILE_EXISTS,
                            MPI_ERR_BAD_FILE,
                            MPI_ERR_ACCESS,
                            MPI_ERR_NO_SPACE,
                            MPI_ERR_QUOTA,
                            MPI_ERR_READ_ONLY,
                            MPI_ERR_FILE_IN_USE,
                            MPI_ERR_DUP_DATAREP,
                            MPI_ERR_CONVERSION,
                            MPI_ERR_IO};
  now("classes");
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    is(class_of(all[i]), all[i], "the class of a class");
    has_text(all[i], "a class");
  }
}

/* A nonblocking call must fail at once or in MPI_Wait. A collective one must fail on all tasks if threads
 * may call MPI for it. */
static void later(void) {
  int level;
  MPI_Query_thread(&level);
  MPI_File file = MPI_FILE_NULL;
  now("class of nonblocking calls");
  gives(MPI_File_open(MPI_COMM_WORLD, path, rw, N, &file), MPI_SUCCESS, "opening");
  const int wrong = rank == tasks - 1;
  for (int collective = 0; collective < 2; ++collective) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = collective ? MPI_File_iwrite_at_all(file, wrong ? -1 : rank, data, 1, MPI_BYTE, &request)
                          : MPI_File_iwrite_at(file, wrong ? -1 : rank, data, 1, MPI_BYTE, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, S);
    gives(code, wrong || (collective && level == MPI_THREAD_MULTIPLE) ? MPI_ERR_ARG : MPI_SUCCESS,
          collective ? "iwrite_at_all" : "iwrite_at");
    check(request == MPI_REQUEST_NULL, "a request is left");
    gives(MPI_File_write_at_all(file, rank, data, 1, MPI_BYTE, S), MPI_SUCCESS, "writing afterwards");
  }
  gives(MPI_File_close(&file), MPI_SUCCESS, "closing");
}

void run_classes(const char* there) {
  MPI_Errhandler a = made('a');
  snprintf(path, sizeof path, "%s", there);
  snprintf(directory, sizeof directory, "%s", there);
  *strrchr(directory, '/') = 0;
  snprintf(missing, sizeof missing, "%s.missing", there);
  snprintf(missing_path, sizeof missing_path, "%s.missing/x", there);
  snprintf(readable, sizeof readable, "%s/x", there);
  on_open_files();
  MPI_File_set_errhandler(MPI_FILE_NULL, a);
  MPI_Errhandler_free(&a);
  on_no_file();
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  classes_are_codes();
  later();
}
