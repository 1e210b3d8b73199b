// cli/json/json: JSON values and their output format. Commands do not include the underlying JSON library,
// because compiling it takes longer than compiling a command. File names need not be UTF-8; invalid bytes
// become U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::cli {

// A value. Objects keep their members in the order of insertion. Copies share their content until one of them
// is modified. Accessors throw std::logic_error if the value has another kind or a member is missing.
class Json {
 public:
  Json() = default;  // null
  Json(bool truth);
  template <std::signed_integral Number>
  Json(Number number) : Json(Signed{number}) {}
  template <std::unsigned_integral Number>
  Json(Number number) : Json(Unsigned{number}) {}
  Json(double number);
  template <std::convertible_to<std::string_view> Text>
  Json(const Text& text) : Json(std::string_view(text)) {}
  Json(std::string_view text);
  Json(const std::vector<std::string>& texts);
  // Creates an object if each value is an array of a text, the name of a member, and its value. Otherwise
  // creates an array.
  Json(std::initializer_list<Json> values);

  static Json array();
  // Returns null if `text` is not valid JSON.
  static Json parse(const std::string& text);

  bool is_null() const { return !value_; }
  bool is_object() const;

  bool truth() const;
  int64_t number() const;
  double real() const;
  const std::string& text() const;

  // Functions for arrays. push_back() turns a null value into an array.
  void push_back(Json value);
  const Json* begin() const;
  const Json* end() const;
  bool empty() const { return begin() == end(); }

  // Functions for objects. The non-const operator[] turns a null value into an object, and adds a missing
  // member as null.
  Json& operator[](const std::string& name);
  const Json& operator[](const std::string& name) const;
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  const Json* find(const std::string& name) const;  // null if missing
  void set_all(const Json& members);
  void remove(const std::string& name);

 private:
  struct Value;
  struct Printer;
  friend std::string text_of(const Json& json, int indent);

  struct Signed {
    int64_t number;
  };
  struct Unsigned {
    uint64_t number;
  };
  Json(Signed number);
  Json(Unsigned number);
  Value& own();

  std::shared_ptr<Value> value_;
};

// Returns the text of a value. `indent`: spaces per level; if negative, the text is a single line.
std::string text_of(const Json& json, int indent = -1);

}  // namespace sheaf::cli
