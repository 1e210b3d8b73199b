#include "mpiio/api/info.hpp"

#include <string>
#include <vector>

#include "base/parse.hpp"
#include "base/setting.hpp"

namespace sheaf::mpiio {

void take_hints(MPI_Info info, Hints& hints, bool tells) {
  if (info == MPI_INFO_NULL) return;
  int keys = 0;
  PMPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int length = 0, found = 0;
    if (PMPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS) continue;
    PMPI_Info_get_valuelen(info, key, &length, &found);
    if (!found) continue;
    std::vector<char> value(static_cast<size_t>(length) + 1);
    PMPI_Info_get(info, key, length, value.data(), &found);
    if (!found || hints.set(key, value.data())) continue;
    if (const char* const expected = tells ? Hints::expected(key) : nullptr)
      tell_not_understood(key, value.data(), expected);
  }
}

MPI_Info info_of(const Hints& hints) {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Info_create(&info);
  for (const auto& [key, value] : hints.words()) {
    // MPI rejects values of MPI_MAX_INFO_VAL bytes or more. Only the list of aggregators can be that long; it
    // is cut after the last rank that fits.
    const std::string fitting(whole_words(value, MPI_MAX_INFO_VAL - 1));
    if (!fitting.empty()) PMPI_Info_set(info, key.c_str(), fitting.c_str());
  }
  return info;
}

}  // namespace sheaf::mpiio
