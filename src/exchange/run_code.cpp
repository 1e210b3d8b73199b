#include "exchange/run_code.hpp"

#include <utility>

#include "layout/extent_code.hpp"

namespace sheaf::exchange {

Runs encode_runs(const CoverageMap& map, int64_t length) {
  layout::ExtentEncoder list;
  map.for_each_run(length, [&](int64_t from, int64_t to) { list.add(Extent::between(from, to)); });
  return check_runs(list.take(), length);
}

Runs check_runs(std::vector<std::byte> code, int64_t length) {
  Runs runs;
  layout::for_each_run(code, [&](const layout::Run& run) {
    if (run.offset < runs.end || run.end() > length) layout::throw_bad_extents();
    if (runs.bytes == 0) runs.begin = run.offset;
    runs.bytes += run.length * run.count;
    runs.end = run.end();
  });
  runs.code = std::move(code);
  return runs;
}

}  // namespace sheaf::exchange
