// datasets_classic: reads variables of a netCDF file in the classic formats (CDF-1, CDF-2, CDF-5). It is
// written from the format specification alone: header, then fixed variables, then records, all big-endian.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace datasets {

class ClassicFile {
 public:
  struct ClassicVariable {
    std::string name;
    std::vector<uint64_t> dims;  // without the record dimension
    bool record = false;
    int type = 0;
    uint64_t begin = 0;
  };

  explicit ClassicFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    if (bytes_.size() < 4 || bytes_.compare(0, 3, "CDF") != 0) throw std::runtime_error("no netCDF file");
    version_ = bytes_[3];
    at_ = 4;
    records_ = length();
    read_header();
    lay_out_records();
  }

  uint64_t records() const { return records_; }

  const ClassicVariable& variable(const std::string& name) const {
    for (const ClassicVariable& one : variables_)
      if (one.name == name) return one;
    throw std::runtime_error("no variable " + name);
  }

  // Returns element `index` of a fixed variable or of record `record`, in the order of the dimensions.
  int value(const ClassicVariable& of, uint64_t record, uint64_t index) const {
    const size_t width = width_of(of.type);
    const uint64_t at = of.begin + (of.record ? record * record_size_ : 0) + index * width;
    if (at + width > bytes_.size()) throw std::runtime_error("the file ends before " + of.name);
    const uint64_t bits = number(at, width);
    switch (of.type) {
      case 1:
        return static_cast<int8_t>(bits);
      case 3:
        return static_cast<int16_t>(bits);
      case 5:
        return static_cast<int>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      case 6:
        return static_cast<int>(std::bit_cast<double>(bits));
      default:
        return static_cast<int>(bits);
    }
  }

 private:
  std::string bytes_;
  int version_ = 1;
  uint64_t at_ = 0, records_ = 0, record_size_ = 0;
  std::vector<ClassicVariable> variables_;
  std::vector<uint64_t> dims_;

  // Returns the bytes of an element: NC_BYTE, CHAR, SHORT, INT, FLOAT, DOUBLE, UBYTE, USHORT, UINT, INT64,
  // UINT64
  static size_t width_of(int type) {
    static constexpr size_t widths[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    if (type < 1 || type > 11) throw std::runtime_error("no such type");
    return widths[type];
  }

  uint64_t number(uint64_t at, size_t width) const {
    if (at + width > bytes_.size()) throw std::runtime_error("the header ends early");
    uint64_t result = 0;
    for (size_t i = 0; i < width; ++i) result = result << 8 | static_cast<uint8_t>(bytes_[at + i]);
    return result;
  }
  uint64_t next(size_t width) {
    at_ += width;
    return number(at_ - width, width);
  }
  uint64_t length() { return next(version_ == 5 ? 8 : 4); }

  std::string name() {
    const uint64_t n = length();
    if (n > bytes_.size()) throw std::runtime_error("a name is too long");
    std::string result = bytes_.substr(at_, n);
    at_ += (n + 3) / 4 * 4;
    return result;
  }

  // Reads the tag of a list and returns the number of its elements.
  uint64_t list() {
    next(4);
    return length();
  }

  void skip_attributes() {
    for (uint64_t n = list(); n > 0; --n) {
      name();
      const size_t width = width_of(static_cast<int>(next(4)));
      at_ += (length() * width + 3) / 4 * 4;
    }
  }

  void read_header() {
    for (uint64_t n = list(); n > 0; --n) {
      name();
      dims_.push_back(length());
    }
    skip_attributes();
    for (uint64_t n = list(); n > 0; --n) {
      ClassicVariable one;
      one.name = name();
      for (uint64_t d = length(); d > 0; --d) {
        const uint64_t dim = dims_.at(length());
        if (dim == 0)
          one.record = true;
        else
          one.dims.push_back(dim);
      }
      skip_attributes();
      one.type = static_cast<int>(next(4));
      length();
      one.begin = next(version_ == 1 ? 4 : 8);
      variables_.push_back(one);
    }
  }

  // Computes where records begin. Records of a variable are padded to a multiple of 4 bytes, unless it is the
  // only record variable.
  void lay_out_records() {
    int with_records = 0;
    uint64_t last = 0;
    for (const ClassicVariable& one : variables_) {
      if (!one.record) continue;
      last = width_of(one.type);
      for (const uint64_t dim : one.dims) last *= dim;
      record_size_ += (last + 3) / 4 * 4;
      ++with_records;
    }
    if (with_records == 1) record_size_ = last;
  }
};

}  // namespace datasets
