// Printing; see report.hpp.
#include "report.hpp"

#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace particles {
namespace {

double megabytes_per_second(std::int64_t bytes, int times, double seconds) {
  return seconds > 0 ? 1e-6 * static_cast<double>(bytes) * times / seconds : 0;
}

double mean(double sum, int times) { return times > 0 ? sum / times : 0; }

}  // namespace

std::string grouped(std::int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

Progress::Progress(bool shown, bool as_line, std::int64_t last_step, std::int64_t particles)
    : shown_(shown),
      as_line_(as_line || isatty(STDERR_FILENO) == 1),
      last_step_(last_step),
      particles_(particles) {}

void Progress::step_done(std::int64_t step, double seconds) {
  per_step_ = per_step_ == 0 ? seconds : 0.8 * per_step_ + 0.2 * seconds;
  if (!shown_ || !as_line_) return;
  redraw(step);
  line_open_ = true;
}

void Progress::checkpoint_done(std::int64_t step, double seconds) {
  last_checkpoint_ = step;
  if (!shown_) return;
  if (as_line_) return redraw(step);
  std::printf("step %6lld   checkpoint written in %.3f s\n", static_cast<long long>(step), seconds);
  std::fflush(stdout);
}

void Progress::redraw(std::int64_t step) const {
  std::fprintf(stderr, "\r\033[Kstep %lld of %lld   %.3f s/step   %s particles", static_cast<long long>(step),
               static_cast<long long>(last_step_), per_step_, grouped(particles_).c_str());
  if (last_checkpoint_ >= 0)
    std::fprintf(stderr, "   last checkpoint: step %lld", static_cast<long long>(last_checkpoint_));
}

void Progress::finish() {
  if (line_open_) std::fputc('\n', stderr);
  line_open_ = false;
}

void print_table(const std::vector<WayTimes>& times) {
  std::printf("%-10s %6s %9s %9s %9s %9s %9s\n", "way", "files", "MB", "write s", "MB/s", "read s", "MB/s");
  for (const WayTimes& t : times) {
    std::printf("%-10s %6lld %9.1f", t.way.c_str(), static_cast<long long>(t.files.files),
                1e-6 * static_cast<double>(t.bytes));
    if (t.writes > 0)
      std::printf(" %9.3f %9.0f", mean(t.write_seconds, t.writes),
                  megabytes_per_second(t.bytes, t.writes, t.write_seconds));
    else
      std::printf(" %9s %9s", "-", "-");
    if (t.reads > 0)
      std::printf(" %9.3f %9.0f\n", mean(t.read_seconds, t.reads),
                  megabytes_per_second(t.bytes, t.reads, t.read_seconds));
    else
      std::printf(" %9s %9s\n", "-", "-");
  }
}

void append_json(const std::string& path, const std::vector<WayTimes>& times, std::int64_t step,
                 std::int64_t particles, double seconds_per_step, const std::string& state) {
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (!file) throw std::runtime_error("cannot write " + path);
  for (const WayTimes& t : times)
    std::fprintf(
        file,
        "{\"way\":\"%s\",\"files\":%lld,\"bytes\":%lld,\"file_bytes\":%lld,\"writes\":%d,\"write_s\":%.6f,"
        "\"write_mb_s\":%.1f,\"reads\":%d,\"read_s\":%.6f,\"read_mb_s\":%.1f}\n",
        t.way.c_str(), static_cast<long long>(t.files.files), static_cast<long long>(t.bytes),
        static_cast<long long>(t.files.bytes), t.writes, mean(t.write_seconds, t.writes),
        megabytes_per_second(t.bytes, t.writes, t.write_seconds), t.reads, mean(t.read_seconds, t.reads),
        megabytes_per_second(t.bytes, t.reads, t.read_seconds));
  std::fprintf(
      file, "{\"run\":\"particles\",\"step\":%lld,\"particles\":%lld,\"step_s\":%.6f,\"state\":\"%s\"}\n",
      static_cast<long long>(step), static_cast<long long>(particles), seconds_per_step, state.c_str());
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

}  // namespace particles
