// datasets_pnetcdf SEED COUNT DIRECTORY [FIRST]: random variables that groups of tasks write and read through
// PnetCDF, compared with their definition (datasets.hpp). One task also reads them from the file, by the
// format specification alone (datasets_classic.hpp). The last line is "N cases, 0 failed".
#include "datasets_pnetcdf.hpp"

#include "datasets_classic.hpp"

namespace {

using namespace datasets;

struct PnetcdfVariable {
  std::string name;
  ArrayContents contents;  // for a record variable: the maximum number of records
  bool record = false;
  int type = NC_INT;
  int fill = ArrayContents::unknown;
  int id = -1;
};

class PnetcdfCase : public DatasetCase {
 public:
  using DatasetCase::DatasetCase;

  void run() {
    static constexpr int formats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
    format_ = formats[pick(random, 0, 2)];
    shape = format_ == 0 ? "CDF-1: " : format_ == NC_64BIT_DATA ? "CDF-5: " : "CDF-2: ";
    for (int i = pick(random, 1, 4); i > 0; --i) define();
    create();
    for (int i = pick(random, 2, 6); i > 0; --i) step();
    if (one_in(random, 2)) {
      close();
      open_again();
    }
    read();
    close();
    MPI_Barrier(group_.comm);
    if (group_.rank == 0) check_alone();
    MPI_Barrier(group_.comm);
    if (group_.rank == 0) std::remove(path_.c_str());
  }

 private:
  std::vector<PnetcdfVariable> variables_;
  int file_ = -1;
  int format_ = 0;
  int record_dimension_ = -1;
  uint64_t records_ = 0;
  uint64_t operation_ = 0;
  bool redefined_ = false;

  void done(int code, const std::string& call) {
    worked(code == NC_NOERR ? 0 : -1, call + " (" + ncmpi_strerror(code) + ")");
  }

  void define() {
    static constexpr int types[] = {NC_BYTE, NC_SHORT, NC_INT, NC_FLOAT, NC_DOUBLE, NC_UINT, NC_INT64};
    PnetcdfVariable one;
    one.name = "v" + std::to_string(variables_.size());
    one.record = one_in(random, 2);
    // PnetCDF 1.12.3 computes wrong positions for records with one element, under every MPI-IO.
    one.contents.dims = some_dims(random, pick(random, one.record ? 2 : 1, 4));
    if (one.record) one.contents.dims[0] = static_cast<uint64_t>(pick(random, 2, 9));
    if (one.record) one.contents.dims[1] += 1;
    one.type = types[pick(random, 0, format_ == NC_64BIT_DATA ? 6 : 4)];
    if (!one.record && one_in(random, 2)) one.fill = pick(random, 1, 99);
    one.contents.resize(one.contents.dims, one.fill);
    shape += one.name + text(one.contents.dims) + (one.record ? " records" : "") + " type " +
             std::to_string(one.type) + " fill " + std::to_string(one.fill) + "; ";
    variables_.push_back(std::move(one));
  }

  void add(PnetcdfVariable& one) {
    std::vector<int> dims;
    for (size_t d = 0; d < one.contents.dims.size(); ++d) {
      if (d == 0 && one.record) {
        dims.push_back(record_dimension_);
        continue;
      }
      dims.push_back(-1);
      const std::string name = one.name + "d" + std::to_string(d);
      done(ncmpi_def_dim(file_, name.c_str(), static_cast<MPI_Offset>(one.contents.dims[d]), &dims.back()),
           "ncmpi_def_dim");
    }
    done(
        ncmpi_def_var(file_, one.name.c_str(), one.type, static_cast<int>(dims.size()), dims.data(), &one.id),
        "ncmpi_def_var");
    if (one.fill == ArrayContents::unknown) return;
    char value[8];
    switch (one.type) {
      case NC_BYTE:
        *value = static_cast<char>(one.fill);
        break;
      case NC_SHORT:
        keep(value, static_cast<short>(one.fill));
        break;
      case NC_FLOAT:
        keep(value, static_cast<float>(one.fill));
        break;
      case NC_DOUBLE:
        keep(value, static_cast<double>(one.fill));
        break;
      case NC_INT64:
        keep(value, static_cast<long long>(one.fill));
        break;
      default:
        keep(value, one.fill);
    }
    done(ncmpi_def_var_fill(file_, one.id, 0, value), "ncmpi_def_var_fill");
  }

  template <class T>
  static void keep(char* where, T value) {
    std::memcpy(where, &value, sizeof value);
  }

  MPI_Info hints() {
    MPI_Info info = some_hints();
    if (info == MPI_INFO_NULL) return info;
    const char* const words[] = {"auto", "enable", "disable"};
    MPI_Info_set(info, "nc_in_place_swap", words[pick(random, 0, 2)]);
    MPI_Info_set(info, "nc_header_align_size", std::to_string(4 * pick(random, 1, 200)).c_str());
    MPI_Info_set(info, "nc_var_align_size", std::to_string(4 * pick(random, 1, 50)).c_str());
    MPI_Info_set(info, "nc_ibuf_size", std::to_string(pick(random, 1, 5000)).c_str());
    return info;
  }

  void create() {
    MPI_Info info = hints();
    done(ncmpi_create(group_.comm, path_.c_str(), NC_CLOBBER | format_, info, &file_), "ncmpi_create");
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    done(ncmpi_def_dim(file_, "records", NC_UNLIMITED, &record_dimension_), "ncmpi_def_dim");
    for (PnetcdfVariable& one : variables_) add(one);
    done(ncmpi_enddef(file_), "ncmpi_enddef");
    synchronise();  // publishes the fill values before other tasks write there
  }

  void open_again() {
    MPI_Info info = hints();
    done(ncmpi_open(group_.comm, path_.c_str(), one_in(random, 2) ? NC_NOWRITE : NC_WRITE, info, &file_),
         "ncmpi_open");
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    for (PnetcdfVariable& one : variables_)
      done(ncmpi_inq_varid(file_, one.name.c_str(), &one.id), "ncmpi_inq_varid");
  }

  void close() { done(ncmpi_close(file_), "ncmpi_close"); }

  // Publishes the data written by each task and the number of records.
  void synchronise() {
    done(ncmpi_sync(file_), "ncmpi_sync");
    MPI_Barrier(group_.comm);
    done(ncmpi_sync(file_), "ncmpi_sync");
  }

  void step() {
    const int what = pick(random, 0, 9);
    ++operation_;
    if (what == 0) return redefine();
    if (what < 4) return read();
    write();
  }

  // Adds a variable to an existing file, which moves the existing variables.
  void redefine() {
    synchronise();
    redefined_ = true;
    done(ncmpi_redef(file_), "ncmpi_redef");
    define();
    add(variables_.back());
    const std::string attribute(static_cast<size_t>(pick(random, 1, 300)), 'x');
    done(ncmpi_put_att_text(file_, NC_GLOBAL, ("a" + std::to_string(operation_)).c_str(),
                            static_cast<MPI_Offset>(attribute.size()), attribute.data()),
         "ncmpi_put_att_text");
    done(ncmpi_enddef(file_), "ncmpi_enddef");
    synchronise();
  }

  // Returns the number of one variable, or of several for nonblocking calls.
  std::vector<int> choose(CallMode mode) {
    std::vector<int> chosen;
    for (int v = 0; v < static_cast<int>(variables_.size()); ++v)
      if (mode >= CallMode::later && one_in(random, 2)) chosen.push_back(v);
    if (chosen.empty()) chosen.push_back(pick(random, 0, static_cast<int>(variables_.size()) - 1));
    std::shuffle(chosen.begin(), chosen.end(), random);
    return chosen;
  }

  void write() {
    const CallMode mode = static_cast<CallMode>(pick(random, 0, 3));
    const bool waits_alone = mode >= CallMode::later && one_in(random, 4);
    std::vector<VariablePart> mine;
    for (const int v : choose(mode)) {
      PnetcdfVariable& one = variables_[static_cast<size_t>(v)];
      const Dims& dims = one.contents.dims;
      ArrayDistribution distribution(random, dims, group_.size);
      const bool varn = one_in(random, 4);
      distribution.turn = varn ? 0 : std::min<uint64_t>(distribution.turn, 1);
      for (int task = 0; task < group_.size; ++task) {
        Random own = of_task(operation_ * 10 + static_cast<uint64_t>(v), task);
        Dims low, high;
        distribution.box(dims, task, &low, &high);
        VariablePart part =
            some_part(own, v, dims, low, high, distribution, task, group_.size, varn, one.record);
        for (const uint64_t index : part.elements) {
          one.contents.values[index] = some_value(number_, operation_, index);
          if (one.record) records_ = std::max(records_, place_of(dims, index)[0] + 1);
        }
        if (task == group_.rank)
          mine.push_back(std::move(part));
        else
          part.release();
      }
    }
    for (VariablePart& part : mine)
      for (size_t i = 0; i < part.elements.size(); ++i)
        part.memory[part.places[i]] = some_value(number_, operation_, part.elements[i]);
    carry_out(mine, mode, waits_alone, true);
    for (VariablePart& part : mine) {
      for (size_t i = 0; i < part.elements.size(); ++i) {
        if (part.memory[part.places[i]] != some_value(number_, operation_, part.elements[i]))
          wrong("writing " + part.name() + " " + name_of(mode) + " has changed the program's memory");
      }
      part.release();
    }
    synchronise();
  }

  // Reads elements. Several tasks may read the same ones.
  void read() {
    const CallMode mode = static_cast<CallMode>(pick(random, 0, 2));
    const bool waits_alone = mode >= CallMode::later && one_in(random, 4);
    std::vector<VariablePart> mine;
    ++operation_;
    for (const int v : choose(mode)) {
      const PnetcdfVariable& one = variables_[static_cast<size_t>(v)];
      const Dims& dims = one.contents.dims;
      Random own = of_task(operation_ * 10 + static_cast<uint64_t>(v), group_.rank);
      Dims low(dims.size(), 0), high = dims;
      if (one.record) high[0] = std::min(high[0], records_);
      ArrayDistribution alone(own, dims, 1);
      alone.turn = 0;
      mine.push_back(some_part(own, v, dims, low, high, alone, 0, 1, one_in(random, 4), one.record));
    }
    carry_out(mine, mode, waits_alone, false);
    for (VariablePart& part : mine) compare(part, mode);
    MPI_Barrier(group_.comm);  // prevents writes to data that other tasks still read
  }

  void compare(VariablePart& part, CallMode mode) {
    const PnetcdfVariable& one = variables_[static_cast<size_t>(part.variable)];
    const std::string what = "reading " + one.name + " by " + part.name() + " " + name_of(mode);
    for (size_t i = 0; i < part.elements.size(); ++i) {
      int& found = part.memory[part.places[i]];
      same(one.contents.values[part.elements[i]], found, one.contents.dims, part.elements[i], what);
      found = VariablePart::nothing;
    }
    for (const int left : part.memory)
      if (left != VariablePart::nothing) wrong(what + ": memory beside the elements has changed");
    part.release();
  }

  void carry_out(std::vector<VariablePart>& parts, CallMode mode, bool waits_alone, bool writes) {
    std::vector<int> requests(parts.size(), NC_REQ_NULL), states(parts.size(), NC_NOERR);
    const bool alone = mode == CallMode::alone || waits_alone;
    if (mode == CallMode::buffered)
      done(ncmpi_buffer_attach(file_, buffer_room(parts)), "ncmpi_buffer_attach");
    if (alone) done(ncmpi_begin_indep_data(file_), "ncmpi_begin_indep_data");
    for (size_t i = 0; i < parts.size(); ++i) {
      VariablePart& part = parts[i];
      if (mode == CallMode::alone && part.elements.empty()) continue;
      const int id = variables_[static_cast<size_t>(part.variable)].id;
      const int code =
          writes ? put(file_, id, part, mode, &requests[i]) : get(file_, id, part, mode, &requests[i]);
      // Elements that were never written may hold numbers outside the range of int.
      if (!writes && code == NC_ERANGE && has_unknown(part)) continue;
      done(code, std::string(writes ? "writing " : "reading ") + part.name() + " " + name_of(mode));
    }
    const int n = static_cast<int>(parts.size());
    if (mode >= CallMode::later) {
      const auto wait = alone ? ncmpi_wait : ncmpi_wait_all;
      const int code = wait(file_, n, requests.data(), states.data());
      if (writes || code != NC_ERANGE) done(code, alone ? "ncmpi_wait" : "ncmpi_wait_all");
    }
    // PnetCDF 1.12.3 may report the error of one request for another one.
    const bool strange =
        std::any_of(parts.begin(), parts.end(), [&](const VariablePart& one) { return has_unknown(one); });
    for (const int state : states)
      if (writes || state != NC_ERANGE || !strange) done(state, "a nonblocking call");
    if (alone) done(ncmpi_end_indep_data(file_), "ncmpi_end_indep_data");
    if (mode == CallMode::buffered) done(ncmpi_buffer_detach(file_), "ncmpi_buffer_detach");
  }

  bool has_unknown(const VariablePart& part) const {
    const ArrayContents& contents = variables_[static_cast<size_t>(part.variable)].contents;
    return std::any_of(part.elements.begin(), part.elements.end(),
                       [&](uint64_t i) { return contents.values[i] == ArrayContents::unknown; });
  }

  static MPI_Offset buffer_room(const std::vector<VariablePart>& parts) {
    MPI_Offset room = 64;
    for (const VariablePart& part : parts) room += static_cast<MPI_Offset>(part.elements.size()) * 8 + 64;
    return room;
  }

  void check_alone() {
    try {
      const ClassicFile file(path_);
      // PnetCDF 1.12.3 sometimes writes no records in the header after ncmpi_redef, under every MPI-IO.
      if (!redefined_ && file.records() != records_)
        wrong("the file says " + std::to_string(file.records()) + " records, expected " +
              std::to_string(records_));
      for (const PnetcdfVariable& one : variables_) {
        const ClassicFile::ClassicVariable& found = file.variable(one.name);
        const uint64_t in_record = one.record ? volume(one.contents.dims) / one.contents.dims[0] : 1;
        for (uint64_t i = 0; i < one.contents.values.size(); ++i) {
          if (one.contents.values[i] == ArrayContents::unknown) continue;
          const int value =
              one.record ? file.value(found, i / in_record, i % in_record) : file.value(found, 0, i);
          same(one.contents.values[i], value, one.contents.dims, i, one.name + " in the file");
        }
      }
    } catch (const std::exception& problem) {
      wrong(std::string("the file cannot be read: ") + problem.what());
    }
  }
};

}  // namespace

int main(int argc, char** argv) { return run_all<PnetcdfCase>(argc, argv, "datasets_pnetcdf"); }
