-- anyhost from LuaJIT: version, GET, headers, an error, a callback, a callback that raises.
--
--     ANYHOST_LIBRARY=target/release/libanyhost.so luajit quickstart.lua https://a.example,https://b.example /path

local ffi = require "ffi"

ffi.cdef [[
typedef struct anyhost_client anyhost_client;
typedef struct anyhost_builder anyhost_builder;
typedef struct anyhost_response anyhost_response;
typedef struct anyhost_error anyhost_error;
typedef struct anyhost_event anyhost_event;
typedef void (*anyhost_event_cb)(void *user, const anyhost_event *event);
typedef void (*anyhost_free_cb)(void *user);
const char *anyhost_version(void);
const char *anyhost_status_name(int32_t status);
const char *anyhost_reason_name(int32_t reason);
const char *anyhost_phase_name(int32_t phase);
const char *anyhost_delivery_name(int32_t delivery);
const char *anyhost_event_name(int32_t kind);
int32_t anyhost_builder_new(anyhost_builder **out);
int32_t anyhost_builder_set(anyhost_builder *builder, const char *option, const char *value);
int32_t anyhost_builder_on_event(anyhost_builder *builder, anyhost_event_cb on_event, void *user,
                                 anyhost_free_cb free_user);
int32_t anyhost_builder_build(anyhost_builder *builder, anyhost_client **out, anyhost_error **err);
void anyhost_builder_free(anyhost_builder *builder);
int32_t anyhost_get(anyhost_client *client, const char *path, anyhost_response **out, anyhost_error **err);
void anyhost_client_free(anyhost_client *client);
int32_t anyhost_response_status(const anyhost_response *response);
const char *anyhost_response_endpoint(const anyhost_response *response);
size_t anyhost_response_header_count(const anyhost_response *response);
int32_t anyhost_response_header_at(const anyhost_response *response, size_t i, const char **name,
                                   const char **value, size_t *value_len);
int32_t anyhost_response_body(const anyhost_response *response, const uint8_t **out, size_t *out_len,
                              anyhost_error **err);
void anyhost_response_free(anyhost_response *response);
const char *anyhost_error_message(const anyhost_error *error);
int32_t anyhost_error_status(const anyhost_error *error);
int32_t anyhost_error_reason(const anyhost_error *error);
int32_t anyhost_error_phase(const anyhost_error *error);
int32_t anyhost_error_delivery(const anyhost_error *error);
void anyhost_error_free(anyhost_error *error);
int32_t anyhost_event_kind(const anyhost_event *event);
]]

-- Held by this file for as long as it runs: were it collected, the library would be unloaded.
local lib = ffi.load(os.getenv("ANYHOST_LIBRARY") or "anyhost")
local text = ffi.string

-- Calls a function that hands out a thing through its last arguments; the thing, or nil and an error.
-- Each goes by its _free when Lua has collected it.
local function make(kind, call, ...)
    local out, err = ffi.new("anyhost_" .. kind .. " *[1]"), ffi.new("anyhost_error *[1]")
    local arguments = { ... }
    arguments[#arguments + 1], arguments[#arguments + 2] = out, err
    if call(unpack(arguments)) == 0 then
        return ffi.gc(out[0], lib["anyhost_" .. kind .. "_free"])
    end
    return nil, ffi.gc(err[0], lib.anyhost_error_free)
end
-- Compiled code cannot be entered from C again: what may call back has to be interpreted.
jit.off(make)

-- A client, and a function that raises what its callback raised. No error may leave a callback, because
-- C would be left in the midst of it: it is caught, kept, and raised when the call has come back.
local function open(urls, on_event)
    local raised
    local callback = ffi.cast("anyhost_event_cb", function(_, event)
        local fine, why = pcall(on_event, event)
        if not fine then raised = raised or why end
    end)
    local out = ffi.new("anyhost_builder *[1]")
    lib.anyhost_builder_new(out)
    local builder = ffi.gc(out[0], lib.anyhost_builder_free)
    -- A setter that fails is told by build.
    lib.anyhost_builder_set(builder, "base_urls", urls)
    lib.anyhost_builder_on_event(builder, callback, nil, nil)
    local client, err = make("client", lib.anyhost_builder_build, builder)
    if not client then error(text(lib.anyhost_error_message(err))) end
    -- LuaJIT has few callbacks, and keeps each until it is told.
    ffi.gc(client, function(it)
        lib.anyhost_client_free(it)
        callback:free()
    end)
    return client, function()
        local why = raised
        raised = nil
        if why then error(why, 0) end
    end
end

local function get(client, path)
    return make("response", lib.anyhost_get, client, path)
end

local urls, path = arg[1], arg[2] or "/"
if not urls then
    io.stderr:write("give base URLs, separated by commas, and a path\n")
    os.exit(2)
end

print("anyhost " .. text(lib.anyhost_version()))

local events = {}
local client = open(urls, function(event)
    events[#events + 1] = text(lib.anyhost_event_name(lib.anyhost_event_kind(event)))
end)
local response, err = get(client, path)
if not response then error(text(lib.anyhost_error_message(err))) end
print(("GET %s: %d from %s"):format(
    path, lib.anyhost_response_status(response), text(lib.anyhost_response_endpoint(response))))
local name, value, size = ffi.new("const char *[1]"), ffi.new("const char *[1]"), ffi.new("size_t[1]")
for i = 0, tonumber(lib.anyhost_response_header_count(response)) - 1 do
    lib.anyhost_response_header_at(response, i, name, value, size)
    print(text(name[0]) .. ": " .. text(value[0], size[0]))
end
local body = ffi.new("const uint8_t *[1]")
lib.anyhost_response_body(response, body, size, nil)
print(text(body[0], size[0]))
print("events: " .. table.concat(events, " "))

-- Nobody listens there.
local _, failed = get(open("http://127.0.0.1:1", function() end), "/")
print(("error: %s, %s at %s, %s"):format(
    text(lib.anyhost_status_name(lib.anyhost_error_status(failed))),
    text(lib.anyhost_reason_name(lib.anyhost_error_reason(failed))),
    text(lib.anyhost_phase_name(lib.anyhost_error_phase(failed))),
    text(lib.anyhost_delivery_name(lib.anyhost_error_delivery(failed)))))

local raising, check = open(urls, function() error("planted", 0) end)
local answer = get(raising, path)
local _, why = pcall(check)
print(("raised by a callback: %s, and the answer was %d"):format(why, lib.anyhost_response_status(answer)))
