#include "cli/json/value.hpp"

#include <algorithm>

namespace sheaf::cli {

Json::Json(bool truth) : value_(std::make_shared<Value>(Value{truth})) {}
Json::Json(Signed number) : value_(std::make_shared<Value>(Value{number.number})) {}
Json::Json(Unsigned number) : value_(std::make_shared<Value>(Value{number.number})) {}
Json::Json(double number) : value_(std::make_shared<Value>(Value{number})) {}
Json::Json(std::string_view text) : value_(std::make_shared<Value>(Value{std::string(text)})) {}
Json::Json(const std::vector<std::string>& texts)
    : value_(std::make_shared<Value>(Value{Value::Array(texts.begin(), texts.end())})) {}

Json::Json(std::initializer_list<Json> values) {
  if (!std::ranges::all_of(values, Value::is_member)) {
    value_ = std::make_shared<Value>(Value{Value::Array(values)});
    return;
  }
  value_ = std::make_shared<Value>(Value{Value::Object()});
  for (const Json& member : values) (*this)[member.begin()[0].text()] = member.begin()[1];
}

Json Json::array() {
  Json made;
  made.value_ = std::make_shared<Value>(Value{Value::Array()});
  return made;
}

Json::Value& Json::own() {
  if (value_.use_count() > 1) value_ = std::make_shared<Value>(*value_);
  return *value_;
}

bool Json::is_object() const { return Value::object_of(*this) != nullptr; }

bool Json::truth() const { return Value::of(*this).as<bool>(); }
double Json::real() const { return Value::of(*this).as<double>(); }
const std::string& Json::text() const { return Value::of(*this).as<std::string>(); }
int64_t Json::number() const {
  const Value& value = Value::of(*this);
  if (const auto* const number = std::get_if<uint64_t>(&value.held)) return static_cast<int64_t>(*number);
  return value.as<int64_t>();
}

void Json::push_back(Json value) {
  if (!value_) *this = array();
  Value::Array* const array = std::get_if<Value::Array>(&own().held);
  if (!array) throw std::logic_error("a JSON value is no array");
  array->push_back(std::move(value));
}

const Json* Json::begin() const { return value_ ? value_->as<Value::Array>().data() : nullptr; }
const Json* Json::end() const { return value_ ? begin() + value_->as<Value::Array>().size() : nullptr; }

Json& Json::operator[](const std::string& name) {
  if (!value_) value_ = std::make_shared<Value>(Value{Value::Object()});
  Value::Object* const object = std::get_if<Value::Object>(&own().held);
  if (!object) throw std::logic_error("a JSON value is no object");
  const auto found = std::ranges::find(*object, name, &Value::Object::value_type::first);
  return found != object->end() ? found->second : object->emplace_back(name, Json()).second;
}

const Json* Json::find(const std::string& name) const {
  const Value::Object* const object = Value::object_of(*this);
  if (!object) return nullptr;
  const auto found = std::ranges::find(*object, name, &Value::Object::value_type::first);
  return found != object->end() ? &found->second : nullptr;
}

const Json& Json::operator[](const std::string& name) const {
  const Json* const found = find(name);
  if (!found) throw std::logic_error("a JSON value has no member '" + name + "'");
  return *found;
}

void Json::set_all(const Json& members) {
  for (const auto& [name, value] : Value::of(members).as<Value::Object>()) (*this)[name] = value;
}

void Json::remove(const std::string& name) {
  if (!contains(name)) return;
  std::erase_if(std::get<Value::Object>(own().held),
                [&](const auto& member) { return member.first == name; });
}

}  // namespace sheaf::cli
