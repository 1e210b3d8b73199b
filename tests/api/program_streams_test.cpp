// Tests formatted printing, and the FILE* that writes through the library (fileptr=stream). Both must write
// across chunk boundaries, and keep the order of the program's calls.
#include <cstdarg>
#include <cstring>

#include "api/api_fixture.hpp"

namespace sheaf::test::program_streams_test {
namespace {

const char* const ways[] = {"", ",compress=zstd,frame=1k", ",checksums=off,journal=off", ",buffer=0"};

std::string line(int task, int number) {
  return "task " + std::to_string(task) + ", line " + std::to_string(number) +
         " of a program that knows no chunks\n";
}

// Calls sion_vfprintf with the variable arguments.
[[gnu::format(printf, 2, 3)]] int print(int sid, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = sion_vfprintf(sid, format, arguments);
  va_end(arguments);
  return printed;
}

class ProgramStreams : public Api {
 protected:
  static inline char buffer[1000];  // buffer for setvbuf()

  static FILE* go_to(int sid, int task) {
    FILE* fp = nullptr;
    EXPECT_EQ(sion_seek_fp(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS, &fp), 1);
    return fp;
  }
};

TEST_F(ProgramStreams, LinesCrossChunks) {
  for (const std::string way : ways) {
    SCOPED_TRACE(way);
    FILE* fp = nullptr;
    int sid = create(path("a"), {100, 4096, 10}, 64, &fp, ("wb,fileptr=stream" + way).c_str());
    ASSERT_NE(fp, nullptr);
    EXPECT_EQ(sion_get_fp(sid), fp);
    std::string wanted[3];
    for (int i = 0; i < 300; ++i) {
      const int task = i / 7 % 3;
      EXPECT_EQ(go_to(sid, task), fp);
      const std::string text = line(task, i);
      const auto bytes = static_cast<int>(text.size());
      if (i % 5 < 2) {
        EXPECT_EQ(std::fprintf(fp, "%s", text.c_str()), bytes);
      } else if (i % 5 == 2) {
        EXPECT_EQ(sion_fprintf(sid, "%s%c", text.substr(0, text.size() - 1).c_str(), '\n'), bytes);
      } else if (i % 5 == 3) {
        EXPECT_EQ(print(sid, "%s", text.c_str()), bytes);
      } else {
        for (const char c : text) EXPECT_EQ(std::putc(c, fp), c);
      }
      wanted[task] += text;
      EXPECT_EQ(sion_get_bytes_written(sid), static_cast<long long>(wanted[task].size()));
      EXPECT_EQ(std::ftell(fp), static_cast<long>(wanted[task].size()));
    }
    EXPECT_EQ(sion_close(sid), 1);

    for (const char* const mode : {"rb,fileptr=stream", "rb"}) {
      sid = open(path("a"), &fp, mode);
      for (int task = 0; task < 3; ++task) {
        EXPECT_EQ(sion_seek_fp(sid, task, 0, 0, &fp), 1);
        std::string found;
        char text[200];
        if (std::strcmp(mode, "rb") == 0) {
          for (size_t n; (n = sion_fread(text, 1, sizeof text, sid)) > 0;) found.append(text, n);
        } else {
          int lines = 0;
          for (; std::fgets(text, sizeof text, fp); ++lines) found += text;
          EXPECT_EQ(lines, std::ranges::count(wanted[task], '\n'));
          EXPECT_TRUE(std::feof(fp));
        }
        EXPECT_EQ(found, wanted[task]);
        EXPECT_EQ(sion_feof(sid), 1);
      }
      EXPECT_EQ(sion_close(sid), 1);
    }
  }
}

TEST_F(ProgramStreams, CallsOfAllKindsKeepTheirOrder) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    FILE* fp = nullptr;
    int sid =
        create(path("a"), {64, 500}, 64, &fp, (std::string("wb,fileptr=stream") + ways[seed % 4]).c_str());
    if (random.chance(2)) std::setvbuf(fp, buffer, _IOFBF, sizeof buffer);
    std::string wanted[2];
    int task = 0;
    for (int step = 0; step < 60; ++step) {
      if (random.chance(5)) go_to(sid, task = static_cast<int>(random.below(2)));
      std::string text(static_cast<size_t>(1 + random.below(150)), static_cast<char>('a' + random.below(26)));
      switch (random.below(5)) {
        case 0:
          EXPECT_EQ(sion_fwrite(text.data(), 1, text.size(), sid), text.size());
          break;
        case 1:
          EXPECT_EQ(sion_fprintf(sid, "%s", text.c_str()), static_cast<int>(text.size()));
          break;
        case 2:
          EXPECT_EQ(sion_flush(sid), 1);
          text.clear();
          break;
        default:
          EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), fp), text.size());
      }
      wanted[task] += text;
    }
    EXPECT_EQ(sion_close(sid), 1);

    sid = open(path("a"), &fp, "rb,fileptr=stream");
    const bool buffered = random.chance(2);
    if (!buffered) std::setvbuf(fp, nullptr, _IONBF, 0);
    task = 0;
    size_t at = 0;
    for (int step = 0; step < 100; ++step) {
      const std::string& all = wanted[task];
      std::string found(static_cast<size_t>(1 + random.below(200)), ' ');
      const std::string next = all.substr(at, found.size());
      switch (random.below(8)) {
        case 0:
          EXPECT_EQ(sion_seek_fp(sid, task = static_cast<int>(random.below(2)), 0, 0, &fp), 1);
          at = 0;
          break;
        case 1:
          at = static_cast<size_t>(random.below(std::ssize(all) + 1));
          EXPECT_EQ(std::fseek(fp, static_cast<long>(at), SEEK_SET), 0);
          break;
        case 2:
          at = all.size() - static_cast<size_t>(random.below(std::ssize(all) + 1));
          EXPECT_EQ(std::fseek(fp, static_cast<long>(at) - static_cast<long>(all.size()), SEEK_END), 0);
          break;
        case 3:
          at = static_cast<size_t>(random.below(std::ssize(all) + 1));
          EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, SION_ABSOLUTE_POS, static_cast<long long>(at)), 1);
          break;
        case 4:
          if (const int c = std::getc(fp); c == EOF) {
            EXPECT_EQ(at, all.size());
          } else {
            EXPECT_EQ(c, all[at]);
            EXPECT_EQ(std::ungetc(c, fp), c);
          }
          EXPECT_EQ(sion_get_bytes_read(sid), static_cast<long long>(at));
          break;
        case 5:
          found.resize(sion_fread(found.data(), 1, found.size(), sid));
          EXPECT_EQ(found, next);
          at += found.size();
          break;
        default:
          std::clearerr(fp);
          found.resize(std::fread(found.data(), 1, found.size(), fp));
          EXPECT_EQ(found, next);
          at += found.size();
      }
      EXPECT_EQ(std::ftell(fp), static_cast<long>(at));
    }
    EXPECT_EQ(sion_close(sid), 1);
    if (HasFailure()) break;
  }
}

TEST_F(ProgramStreams, AreThereForOneTaskAndWhenAppending) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {64, 64}, 64, &fp, "wb,fileptr=stream");
  go_to(sid, 1);
  EXPECT_GT(std::fprintf(fp, "%0100d\n", 7), 0);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"), &fp, "append,fileptr=stream");
  go_to(sid, 1);
  EXPECT_GT(std::fprintf(fp, "%0100d\n", 8), 0);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open_rank(path("a"), 1, &fp, "rb,fileptr=stream");
  int number[3] = {};
  EXPECT_EQ(std::fscanf(fp, "%d %d", &number[0], &number[1]), 2);
  EXPECT_EQ(std::fscanf(fp, "%d", &number[2]), EOF);
  EXPECT_EQ(number[0], 7);
  EXPECT_EQ(number[1], 8);
  std::rewind(fp);
  EXPECT_EQ(sion_get_bytes_read(sid), 0);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(ProgramStreams, ThatTheProgramClosesAreMadeAgain) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {64}, 64, &fp, "wb,fileptr=stream");
  std::setvbuf(fp, buffer, _IOFBF, sizeof buffer);
  EXPECT_EQ(std::fputs("first", fp), 1);
  std::fclose(fp);
  EXPECT_EQ(sion_fwrite(" ", 1, 1, sid), 1u);
  EXPECT_EQ(sion_set_fp_closed(sid), 1);
  fp = sion_get_fp(sid);
  EXPECT_EQ(std::fputs("second", fp), 1);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  char found[20] = {};
  EXPECT_EQ(sion_fread(found, 1, 19, sid), 12u);
  EXPECT_STREQ(found, "first second");
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(ProgramStreams, RefuseWhatIsNotTheirs) {
  EXPECT_EQ(create(path("a"), {64}, 64, nullptr, "wb,fileptr=socket"), -1);
  EXPECT_TRUE(last_error_has("fileptr=file or fileptr=stream"));
  FILE* fp = nullptr;
  int sid = create(path("a"), {64}, 64, &fp, "wb,fileptr=stream");
  EXPECT_EQ(sion_get_fd(sid), -1);
  EXPECT_EQ(sion_set_second_fp(sid, stderr), 0);
  EXPECT_TRUE(last_error_has("fileptr=stream"));
  EXPECT_EQ(sion_optimize_fp_buffer(sid), 1);
  EXPECT_EQ(std::fputs("text", fp), 1);
  EXPECT_EQ(std::fseek(fp, 0, SEEK_SET), -1);
  EXPECT_EQ(std::fseek(fp, 0, SEEK_END), 0);
  EXPECT_EQ(sion_close(sid), 1);
  sid = create(path("b"), {64}, 64, &fp, "wb,fileptr=stream,posix");
  EXPECT_EQ(fp, nullptr);
  EXPECT_GE(sion_get_fd(sid), 0);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(ProgramStreams, CompressedMultifilesHaveNoDescriptorAndSayWhatToDo) {
  for (const char* mode : {"wb,compress=gzip", "wb,posix,compress=lz4"}) {
    const int sid = create(path("a"), {64}, 64, nullptr, mode);
    EXPECT_EQ(sion_get_fd(sid), -1);
    EXPECT_TRUE(last_error_has("is compressed") && last_error_has("sion_get_fp") &&
                last_error_has("compress=none"));
    EXPECT_EQ(sion_set_second_fp(sid, stderr), 0);
    EXPECT_EQ(sion_fwrite("text", 1, 4, sid), 4u);
    EXPECT_EQ(sion_close(sid), 1);
  }
  const int sid = open(path("a"));
  EXPECT_EQ(sion_get_fd(sid), -1);
  EXPECT_TRUE(last_error_has("is compressed") && last_error_has("sheaf defrag --decompress"));
  EXPECT_EQ(sion_close(sid), 1);
}

// With stdio buffering, the program's writes succeed before the library refuses the bytes. Then the close
// must fail.
TEST_F(ProgramStreams, BytesThatTheLibraryRefusesFailTheClose) {
  FILE* fp = nullptr;
  int sid = create(path("a"), {0, 64}, 64, &fp, "wb,fileptr=stream");
  EXPECT_EQ(std::fputs("unbuffered", fp), EOF);
  EXPECT_TRUE(last_error_has("could not write 10 bytes"));
  std::clearerr(fp);
  EXPECT_EQ(sion_close(sid), 1);
  for (const std::string way : ways) {
    sid = create(path("a"), {0, 64}, 64, &fp, ("wb,fileptr=stream" + way).c_str());
    std::setvbuf(fp, buffer, _IOFBF, sizeof buffer);
    EXPECT_EQ(std::fputs("buffered", fp), 1);
    EXPECT_EQ(sion_close(sid), 0) << way;
    EXPECT_TRUE(last_error_has("lost")) << sheaf_last_error();
  }
}

TEST_F(ProgramStreams, PrintingReturnsWhatFprintfWould) {
  for (const char* const mode : {"wb", "wb,fileptr=stream", "wb,posix", "wb,compress=lz4"}) {
    int sid = create(path("a"), {64, 0}, 64, nullptr, mode);
    const char* const no_format = nullptr;
    const std::string text(5000, 'x');
    EXPECT_EQ(sion_fprintf(sid, "%s", ""), 0);
    EXPECT_EQ(sion_fprintf(sid, "%d|%5.2f|%s", 42, 2.5, "end"), 12);
    EXPECT_EQ(sion_fprintf(sid, "%1023s", "a"), 1023);
    EXPECT_EQ(sion_fprintf(sid, "%1024s", "b"), 1024);
    EXPECT_EQ(sion_fprintf(sid, "%s%d", text.c_str(), 7), 5001);
    EXPECT_EQ(print(sid, "%s", "va"), 2);
    EXPECT_EQ(sion_fprintf(sid, no_format), -1);
    EXPECT_EQ(sion_get_bytes_written(sid), 12 + 1023 + 1024 + 5001 + 2);
    EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
    EXPECT_EQ(sion_fprintf(sid, "no room"), -1);
    EXPECT_EQ(sion_close(sid), 1);
    EXPECT_EQ(sion_fprintf(sid, "closed"), -1);
    sid = open(path("a"));
    std::string found(8000, ' ');
    found.resize(sion_fread(found.data(), 1, found.size(), sid));
    EXPECT_EQ(found,
              "42| 2.50|end" + std::string(1022, ' ') + "a" + std::string(1023, ' ') + "b" + text + "7va");
    EXPECT_LT(sion_fprintf(sid, "reading"), 0);
    EXPECT_EQ(sion_close(sid), 1);
  }
}

}  // namespace
}  // namespace sheaf::test::program_streams_test
