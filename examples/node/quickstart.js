// anyhost from Node: version, GET, headers, an error, a callback, a callback that raises.
//
//     npm install koffi
//     ANYHOST_LIBRARY=target/release/libanyhost.so node quickstart.js https://a.example,https://b.example /path

'use strict';

const koffi = require('koffi');

const lib = koffi.load(process.env.ANYHOST_LIBRARY ?? 'libanyhost.so.0');
for (const name of ['client', 'builder', 'response', 'error', 'event']) koffi.opaque(`anyhost_${name}`);
const EventCallback = koffi.proto('void anyhost_event_cb(void *user, const anyhost_event *event)');
const bind = (prototype) => lib.func(prototype);

const version = bind('const char *anyhost_version()');
const statusName = bind('const char *anyhost_status_name(int32_t status)');
const reasonName = bind('const char *anyhost_reason_name(int32_t reason)');
const phaseName = bind('const char *anyhost_phase_name(int32_t phase)');
const deliveryName = bind('const char *anyhost_delivery_name(int32_t delivery)');
const eventName = bind('const char *anyhost_event_name(int32_t kind)');
const builderNew = bind('int32_t anyhost_builder_new(_Out_ anyhost_builder **out)');
const builderSet = bind(
  'int32_t anyhost_builder_set(anyhost_builder *builder, const char *option, const char *value)');
const builderOnEvent = bind(
  'int32_t anyhost_builder_on_event(anyhost_builder *builder, anyhost_event_cb *on_event, void *user, ' +
  'void *free_user)');
const builderBuild = bind(
  'int32_t anyhost_builder_build(anyhost_builder *builder, _Out_ anyhost_client **out, _Out_ anyhost_error **err)');
const builderFree = bind('void anyhost_builder_free(anyhost_builder *builder)');
const get = bind(
  'int32_t anyhost_get(anyhost_client *client, const char *path, _Out_ anyhost_response **out, ' +
  '_Out_ anyhost_error **err)');
const clientFree = bind('void anyhost_client_free(anyhost_client *client)');
const responseStatus = bind('int32_t anyhost_response_status(const anyhost_response *response)');
const responseEndpoint = bind('const char *anyhost_response_endpoint(const anyhost_response *response)');
const responseHeaderCount = bind('size_t anyhost_response_header_count(const anyhost_response *response)');
const responseHeaderAt = bind(
  'int32_t anyhost_response_header_at(const anyhost_response *response, size_t i, _Out_ const char **name, ' +
  '_Out_ void **value, _Out_ size_t *value_len)');
const responseBody = bind(
  'int32_t anyhost_response_body(const anyhost_response *response, _Out_ void **out, _Out_ size_t *out_len, ' +
  'void *err)');
const responseFree = bind('void anyhost_response_free(anyhost_response *response)');
const errorMessage = bind('const char *anyhost_error_message(const anyhost_error *error)');
const errorStatus = bind('int32_t anyhost_error_status(const anyhost_error *error)');
const errorReason = bind('int32_t anyhost_error_reason(const anyhost_error *error)');
const errorPhase = bind('int32_t anyhost_error_phase(const anyhost_error *error)');
const errorDelivery = bind('int32_t anyhost_error_delivery(const anyhost_error *error)');
const errorFree = bind('void anyhost_error_free(anyhost_error *error)');
const eventKind = bind('int32_t anyhost_event_kind(const anyhost_event *event)');

// What the library could not do.
class AnyhostError extends Error {
  constructor(error) {
    super(errorMessage(error));
    this.status = statusName(errorStatus(error));
    this.reason = reasonName(errorReason(error));
    this.phase = phaseName(errorPhase(error));
    this.delivery = deliveryName(errorDelivery(error));
    errorFree(error);
  }
}

// A copy of bytes that the library lends.
const bytes = (pointer, size) => Buffer.from(koffi.decode(pointer, koffi.array('uint8_t', Number(size))));

class Client {
  #client = null;
  #callback;
  #raised = [];

  constructor(urls, onEvent) {
    // What onEvent throws may not pass through C: it is kept, and check() throws it after the call.
    const guarded = (_user, event) => {
      try {
        onEvent(eventName(eventKind(event)));
      } catch (error) {
        this.#raised.push(error);
      }
    };
    this.#callback = koffi.register(guarded, koffi.pointer(EventCallback));
    const [builder, client, error] = [[null], [null], [null]];
    builderNew(builder);
    // A setter that fails is told by build.
    builderSet(builder[0], 'base_urls', urls);
    builderOnEvent(builder[0], this.#callback, null, null);
    const status = builderBuild(builder[0], client, error);
    builderFree(builder[0]);
    if (status !== 0) {
      koffi.unregister(this.#callback);
      throw new AnyhostError(error[0]);
    }
    this.#client = client[0];
  }

  // The call is made on a thread of koffi's, so that the loop of Node goes on; callbacks run in the loop.
  get(path) {
    return new Promise((resolve, reject) => {
      const [response, error] = [[null], [null]];
      get.async(this.#client, path, response, error, (failed, status) => {
        if (failed) reject(failed);
        else if (status !== 0) reject(new AnyhostError(error[0]));
        else resolve(Client.#take(response[0]));
      });
    });
  }

  static #take(response) {
    const headers = [];
    for (let i = 0; i < responseHeaderCount(response); i++) {
      const [name, value, size] = [[null], [null], [0]];
      responseHeaderAt(response, i, name, value, size);
      headers.push([name[0], bytes(value[0], size[0]).toString()]);
    }
    const [body, size] = [[null], [0]];
    responseBody(response, body, size, null);
    const status = responseStatus(response);
    const answer = { status, endpoint: responseEndpoint(response), headers, body: bytes(body[0], size[0]) };
    responseFree(response);
    return answer;
  }

  check() {
    const [first] = this.#raised.splice(0);
    if (first) throw first;
  }

  close() {
    clientFree(this.#client);
    koffi.unregister(this.#callback);
  }
}

async function main(urls, path = '/') {
  if (!urls) {
    console.error('give base URLs, separated by commas, and a path');
    process.exitCode = 2;
    return;
  }
  console.log(`anyhost ${version()}`);

  const events = [];
  const client = new Client(urls, (name) => events.push(name));
  const answer = await client.get(path);
  client.close();
  console.log(`GET ${path}: ${answer.status} from ${answer.endpoint}`);
  for (const [name, value] of answer.headers) console.log(`${name}: ${value}`);
  console.log(answer.body.toString());
  console.log(`events: ${events.join(' ')}`);

  const nobody = new Client('http://127.0.0.1:1', () => {}); // Nobody listens there.
  try {
    await nobody.get('/');
  } catch (error) {
    console.log(`error: ${error.status}, ${error.reason} at ${error.phase}, ${error.delivery}`);
  }
  nobody.close();

  const raising = new Client(urls, () => { throw new Error('planted'); });
  const { status } = await raising.get(path);
  try {
    raising.check();
  } catch (error) {
    console.log(`raised by a callback: ${error.message}, and the answer was ${status}`);
  }
  raising.close();
}

main(...process.argv.slice(2));
