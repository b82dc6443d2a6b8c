# anyhost from Ruby: version, GET, headers, an error, a callback, a callback that raises.
#
#     ANYHOST_LIBRARY=target/release/libanyhost.so ruby quickstart.rb https://a.example,https://b.example /path

require "fiddle"

# The functions of the library, by their names without "anyhost_".
module Lib
  FILE = Fiddle.dlopen(ENV.fetch("ANYHOST_LIBRARY", "libanyhost.so.0"))

  # Every function here returns an int32_t, a text, or nothing, and takes handles, texts and numbers.
  def self.bind(returns, *functions)
    functions.each do |name, *takes|
      function = Fiddle::Function.new(FILE["anyhost_#{name}"], takes, returns)
      define_singleton_method(name) do |*arguments|
        result = function.call(*arguments)
        returns == Fiddle::TYPE_VOIDP ? result.to_s : result
      end
    end
  end

  POINTER = Fiddle::TYPE_VOIDP
  INT = Fiddle::TYPE_INT
  SIZE = Fiddle::TYPE_SIZE_T
  bind POINTER, [:version], [:status_name, INT], [:reason_name, INT], [:phase_name, INT],
       [:delivery_name, INT], [:event_name, INT], [:error_message, POINTER], [:response_endpoint, POINTER]
  bind INT, [:builder_new, POINTER], [:builder_set, POINTER, POINTER, POINTER],
       [:builder_on_event, POINTER, POINTER, POINTER, POINTER], [:builder_build, POINTER, POINTER, POINTER],
       [:get, POINTER, POINTER, POINTER, POINTER], [:response_status, POINTER],
       [:response_header_at, POINTER, SIZE, POINTER, POINTER, POINTER],
       [:response_body, POINTER, POINTER, POINTER, POINTER], [:error_status, POINTER],
       [:error_reason, POINTER], [:error_phase, POINTER], [:error_delivery, POINTER], [:event_kind, POINTER]
  bind SIZE, [:response_header_count, POINTER]
  bind Fiddle::TYPE_VOID, [:builder_free, POINTER], [:client_free, POINTER], [:response_free, POINTER],
       [:error_free, POINTER]

  # Room for a pointer or a number that is handed out.
  def self.room
    Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
  end
end

# What the library could not do.
class AnyhostError < StandardError
  attr_reader :status, :reason, :phase, :delivery

  def initialize(error)
    super(Lib.error_message(error))
    @status = Lib.status_name(Lib.error_status(error))
    @reason = Lib.reason_name(Lib.error_reason(error))
    @phase = Lib.phase_name(Lib.error_phase(error))
    @delivery = Lib.delivery_name(Lib.error_delivery(error))
  end
end

Response = Struct.new(:status, :endpoint, :headers, :body)

# The events of a client, told to a block by their names. What the block raises may not leave the callback:
# it would jump over the frames of C. It is kept, and `get` raises it when C has come back.
class EventCallback < Fiddle::Closure
  attr_accessor :raised

  def initialize(&block)
    super(Fiddle::TYPE_VOID, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP])
    @block = block
  end

  def call(_user, event)
    @block.call(Lib.event_name(Lib.event_kind(event)))
  rescue Exception => e # rubocop:disable Lint/RescueException
    @raised ||= e
  end
end

class Client
  def initialize(urls, &on_event)
    # Held as long as the client, or Ruby would collect what C calls.
    @callback = EventCallback.new(&on_event)
    builder = make(:builder_free) { |out| Lib.builder_new(out) }
    # A setter that fails is told by build.
    Lib.builder_set(builder, "base_urls", urls)
    Lib.builder_on_event(builder, @callback, nil, nil)
    @client = make(:client_free) { |out, err| Lib.builder_build(builder, out, err) }
  end

  def get(path)
    response = make(:response_free) { |out, err| Lib.get(@client, path, out, err) }
    Response.new(Lib.response_status(response), Lib.response_endpoint(response), headers(response), body(response))
  end

  # What the callback raised, raised now.
  def check
    raised, @callback.raised = @callback.raised, nil
    raise raised if raised
  end

  private

  # A thing that a function hands out, freed when Ruby has collected it; or its error, raised.
  def make(free)
    out, err = Lib.room, Lib.room
    out[0, Fiddle::SIZEOF_VOIDP] = err[0, Fiddle::SIZEOF_VOIDP] = "\0" * Fiddle::SIZEOF_VOIDP
    return Fiddle::Pointer.new(out.ptr.to_i, 0, Lib::FILE["anyhost_#{free}"]) if yield(out, err).zero?

    begin
      raise AnyhostError.new(err.ptr)
    ensure
      Lib.error_free(err.ptr)
    end
  end

  def headers(response)
    (0...Lib.response_header_count(response)).map do |i|
      name, value, size = Lib.room, Lib.room, Lib.room
      Lib.response_header_at(response, i, name, value, size)
      [name.ptr.to_s, value.ptr[0, size[0, Fiddle::SIZEOF_SIZE_T].unpack1("J")]]
    end
  end

  def body(response)
    bytes, size = Lib.room, Lib.room
    Lib.response_body(response, bytes, size, nil)
    bytes.ptr[0, size[0, Fiddle::SIZEOF_SIZE_T].unpack1("J")]
  end
end

urls, path = ARGV
unless urls
  warn "give base URLs, separated by commas, and a path"
  exit 2
end
path ||= "/"

puts "anyhost #{Lib.version}"

events = []
answer = Client.new(urls) { |name| events << name }.get(path)
puts "GET #{path}: #{answer.status} from #{answer.endpoint}"
answer.headers.each { |name, value| puts "#{name}: #{value}" }
puts answer.body
puts "events: #{events.join(' ')}"

begin
  Client.new("http://127.0.0.1:1") { nil }.get("/") # Nobody listens there.
rescue AnyhostError => e
  puts "error: #{e.status}, #{e.reason} at #{e.phase}, #{e.delivery}"
end

client = Client.new(urls) { raise "planted" }
answer = client.get(path)
begin
  client.check
rescue RuntimeError => e
  puts "raised by a callback: #{e.message}, and the answer was #{answer.status}"
end
