// Collective reads and writes.
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"
#include "comm/agree.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

constexpr auto invalid = static_cast<size_t>(-1);

// Validates the arguments and sets `bytes`. A task with invalid arguments takes part in the call with `bytes`
// = 0, because the other tasks wait for it.
std::optional<Error> check_request(SionHandle& handle, const void* data, size_t size, size_t nitems,
                                   size_t& bytes) {
  return attempt([&] {
    const size_t wanted = bytes_of(size, nitems);
    if (wanted > 0 && !data) throw Error(Code::invalid_argument, "the data pointer is NULL");
    bytes = wanted;
    handle.settle();
  });
}

}  // namespace

size_t sion_coll_fwrite(const void* data, size_t size, size_t nitems, int sid) {
  SionHandle* h = find_handle(sid);
  multifile::Writer* const writer = h ? h->writes.get() : nullptr;
  if (h && !(writer && writer->collective())) return sion_fwrite(data, size, nitems, sid);
  return on_found_handle("sion_coll_fwrite", sid, invalid, size_t{0}, [&](SionHandle& handle) -> size_t {
    begin_call(handle);
    size_t bytes = 0;
    const auto problem = check_request(handle, data, size, nitems, bytes);
    const std::span given(static_cast<const std::byte*>(data), bytes);
    handle.append({}, given, [&] {
      collective_call(job_end_of(handle), "sion_coll_fwrite",
                      [&] { writer->write_collectively(given.first(problem ? 0 : bytes), problem); });
    });
    report_overrun("sion_coll_fwrite", handle);
    return bytes == 0 ? 0 : nitems;
  });
}

size_t sion_coll_fread(void* data, size_t size, size_t nitems, int sid) {
  SionHandle* h = find_handle(sid);
  multifile::Reader* const reader = h ? h->reads.get() : nullptr;
  if (h && !(reader && reader->collective())) return sion_fread(data, size, nitems, sid);
  return on_found_handle("sion_coll_fread", sid, invalid, size_t{0}, [&](SionHandle& handle) -> size_t {
    begin_call(handle);
    size_t bytes = 0;
    size_t items = 0;
    auto problem = check_request(handle, data, size, nitems, bytes);
    if (!problem && bytes > 0)
      problem = attempt([&] {
        items = static_cast<size_t>(reader->stream().available(static_cast<int64_t>(bytes))) / size;
      });
    collective_call(job_end_of(handle), "sion_coll_fread", [&] {
      reader->collective()->read({static_cast<std::byte*>(data), items * size}, problem);
    });
    return items;
  });
}
