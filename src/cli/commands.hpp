// cli/commands: what each subcommand does, for `sheaf` and the classic names alike. Each returns the exit
// code: 0, or 1 for a problem that has been reported; all throw sheaf::Error for what has not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recovery/repair.hpp"
#include "tools/defrag.hpp"
#include "tools/split.hpp"

namespace sheaf::cli {

// All metadata of a multifile; of one that was never closed, what its journal tells. Says so on stderr.
// ignore_checksums: they are not looked at, so that what is left of a damaged file can be saved.
Multifile load(const std::string& path, bool ignore_checksums = false);
// Says on stderr that a multifile was never closed, and how its journal is damaged; or that it was repaired
// by guessing.
void tell_what_is_unsure(const std::string& path, bool unclosed, bool guessed);

struct DumpOptions {
  std::string path{};
  bool ignore_checksums = false;
  bool blocks = false;           // -a
  bool bytes = false;            // -l
  bool mapping = false;          // -m
  bool mapping_by_file = false;  // -M
  bool keys = false;             // -k
  bool records = false;          // -K
  bool internals = false;        // -S
  bool json = false;
};
int dump(const DumpOptions& options);
void dump_text(const Multifile& multifile, const DumpOptions& options);
void dump_json(const Multifile& multifile, bool with_records);

struct CatOptions {
  std::string path{};
  bool ignore_checksums = false;
  std::optional<int64_t> task{};
  std::string name{};  // of a stream; empty: tasks
  std::optional<int64_t> block{};
  std::string output{};  // empty: stdout
  bool replace = false;
  bool verbose = false;
};
int cat(const CatOptions& options);

struct SplitOptions {
  std::string path{};
  bool ignore_checksums = false;
  SplitRequest request{};
  bool names = false;  // call the outputs by the names of the streams
};
int split(const SplitOptions& options);

struct DefragOptions {
  std::string path{};
  bool ignore_checksums = false;
  DefragRequest request{};
};
int defrag(const DefragOptions& options);

struct InfoOptions {
  std::string path;  // empty: about Sheaf itself
  bool ignore_checksums = false;
  bool json = false;
};
int info(const InfoOptions& options);
void print_info(const Multifile& multifile, bool json);

struct VerifyOptions {
  std::vector<std::string> paths;
  bool metadata_only = false;
  bool json = false;
};
int verify(const VerifyOptions& options);

struct RepairOptions {
  std::string path;
  RepairRequest request;
  bool force = false;
  bool json = false;
};
int repair(const RepairOptions& options);

struct LeftoversOptions {
  std::string directory = ".";
  bool remove = false;
  bool finish = false;
  bool force = false;  // finish also in the place of what is newer
  bool json = false;
};
int leftovers(const LeftoversOptions& options);

struct DoctorOptions {
  std::string directory;
  std::string other;  // the same directory by another way; empty: none
  bool json = false;
};
int doctor(const DoctorOptions& options);

struct MountOptions {
  std::vector<std::string> paths;  // of the multifiles, then the directory
  bool write = false;
  bool foreground = false;
  bool allow_other = false;
  bool ignore_checksums = false;
};
// Becomes the program sheaf-mount, which is there where Sheaf was built with libfuse; throws unsupported
// where it is not.
int mount(const MountOptions& options);

struct UmountOptions {
  std::vector<std::string> directories;
  bool lazy = false;
};
// Returns when the programs behind the mounts have ended. Throws for a directory where nothing of ours is
// mounted.
int umount(const UmountOptions& options);

// The programs siondump, sionsplit, siondefrag, sioncat, sionversion; nullopt: `name` is none of them.
std::optional<int> run_classic(const std::string& name, int argc, char** argv);

// The whole `sheaf` command line.
int run_sheaf(int argc, char** argv);

}  // namespace sheaf::cli
