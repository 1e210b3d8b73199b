#include "cases.h"

// Prints the contents of a shared mapping of a file of at least `n` bytes.
static void show_mapped(const char* memory, size_t n) {
  printf("  mapped:");
  for (size_t i = 0; i < n; ++i) printf(memory[i] >= ' ' ? " %c" : " %d", memory[i]);
  printf("\n");
}

static void shared_mappings(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const int fd = file_with("cap.map", "0123456789");
  const int other = open("cap.map", O_WRONLY);
  CALL(ftruncate(fd, 2 * (off_t)page));
  const char* const memory = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, 0);
  const char* const second = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
  VALUE(memory != MAP_FAILED && second != MAP_FAILED);
  CALL(pwrite(fd, "ab", 2, 1));
  show_mapped(memory, 12);
  CALL(write(other, "XY", 2));
  CALL(pwrite(other, "later", 5, (off_t)page - 2));
  show_mapped(memory, 12);
  show_mapped(memory + page - 2, 6);
  show_mapped(second, 5);
  CALL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3, 2));
  show_mapped(memory, 12);
  CALL(ftruncate(fd, 6));
  show_mapped(memory, 12);
  CALL(ftruncate(fd, 2 * (off_t)page));
  show_mapped(memory, 12);
  show_mapped(second, 5);
  const int appending = open("cap.map", O_WRONLY | O_APPEND);
  CALL(truncate("cap.map", (off_t)page + 1));
  CALL(write(appending, "more", 4));
  show_mapped(second, 8);
  FILE* const stream = fopen("cap.map", "r+");
  fputs("by stdio", stream);
  fclose(stream);
  show_mapped(memory, 12);
  CALL(close(open("cap.map", O_WRONLY | O_TRUNC)));
  CALL(pwrite(other, "new", 3, 5));
  show_mapped(memory, 12);
  CALL(close(fd));
  CALL(close(appending));
  CALL(unlink("cap.map"));
  CALL(pwrite(other, "gone", 4, 0));
  show_mapped(memory, 12);
  CALL(munmap((void*)(size_t)second, page));
  CALL(pwrite(other, "still", 5, 0));
  show_mapped(memory, 12);
  CALL(munmap((void*)(size_t)memory, 1));
  CALL(munmap((void*)(size_t)memory, 2 * page));
  CALL(pwrite(other, "unseen", 6, 0));
  CALL(close(other));
  file_with("cap.map", "read only");
  const int reading = open("cap.map", O_RDONLY);
  void* const read_only = mmap(NULL, page, PROT_READ, MAP_SHARED, reading, 0);
  CALL(mprotect(read_only, page, PROT_READ | PROT_WRITE));
  CALL(munmap(read_only, page));
  CALL(close(reading));
  CALL(unlink("cap.map"));
}

void cases_memory(void) {
  shared_mappings();
  const long page = sysconf(_SC_PAGESIZE);
  const int fd = file_with("cap.map", "mapped bytes");
  char* memory = mmap(NULL, 12, PROT_READ, MAP_PRIVATE, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory, "mapped bytes", 12) == 0);
  CALL(munmap(memory, 12));
  memory = mmap(NULL, 12, PROT_READ, MAP_SHARED, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory, "mapped bytes", 12) == 0);
  CALL(munmap(memory, 12));
  memory = mmap(NULL, 12, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  memory[0] = 'M';
  show("cap.map");
  CALL(munmap(memory, 12));
  CALL(mmap(NULL, 12, PROT_READ, MAP_PRIVATE, fd, 1) == MAP_FAILED ? -1 : 0);
  CALL(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
  CALL(ftruncate(fd, 3 * page));
  CALL(pwrite(fd, "far", 3, page + 1));
  memory = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, fd, page);
  VALUE(memory != MAP_FAILED && memcmp(memory + 1, "far", 3) == 0);
  VALUE(madvise(memory, (size_t)page, MADV_DONTNEED) == 0 && memcmp(memory + 1, "far", 3) == 0);
  CALL(munmap(memory, (size_t)page));
  const size_t more = (size_t)64 << 30;
  memory = mmap(NULL, more, PROT_READ, MAP_SHARED, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory + page + 1, "far", 3) == 0);
  CALL(munmap(memory, more));
  CALL(close(fd));
  const int written = open("cap.map", O_WRONLY);
  CALL(mmap(NULL, 12, PROT_READ, MAP_PRIVATE, written, 0) == MAP_FAILED ? -1 : 0);
  CALL(close(written));
  CALL(unlink("cap.map"));
}
