# anyhost from Perl: version, GET, headers, an error, a callback, a callback that raises.
#
#     ANYHOST_LIBRARY=target/release/libanyhost.so perl quickstart.pl https://a.example,https://b.example /path
#
# FFI::Platypus: libffi-platypus-perl in Debian, cpanm FFI::Platypus elsewhere.

use v5.20;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use FFI::Platypus 1.00;
use FFI::Platypus::Buffer qw(buffer_to_scalar);

my ($urls, $path) = @ARGV;
$path //= '/';
if (!$urls) {
    say STDERR 'give base URLs, separated by commas, and a path';
    exit 2;
}

my $ffi = FFI::Platypus->new(api => 1);
$ffi->lib($ENV{ANYHOST_LIBRARY} // 'libanyhost.so.0');
$ffi->mangler(sub ($name) { "anyhost_$name" });
$ffi->type('(opaque, opaque)->void' => 'event_cb');

$ffi->attach(version => [] => 'string');
$ffi->attach($_ => ['sint32'] => 'string')
    for qw(status_name reason_name phase_name delivery_name event_name);
$ffi->attach($_ => ['opaque'] => 'sint32')
    for qw(response_status error_status error_reason error_phase error_delivery event_kind);
$ffi->attach($_ => ['opaque'] => 'string') for qw(error_message response_endpoint);
$ffi->attach($_ => ['opaque'] => 'void') for qw(builder_free client_free response_free error_free);
$ffi->attach(builder_new => ['opaque*'] => 'sint32');
$ffi->attach(builder_set => ['opaque', 'string', 'string'] => 'sint32');
$ffi->attach(builder_on_event => ['opaque', 'event_cb', 'opaque', 'opaque'] => 'sint32');
$ffi->attach(builder_build => ['opaque', 'opaque*', 'opaque*'] => 'sint32');
$ffi->attach(get => ['opaque', 'string', 'opaque*', 'opaque*'] => 'sint32');
$ffi->attach(response_header_count => ['opaque'] => 'size_t');
$ffi->attach(response_header_at => ['opaque', 'size_t', 'opaque*', 'opaque*', 'size_t*'] => 'sint32');
$ffi->attach(response_body => ['opaque', 'opaque*', 'size_t*', 'opaque'] => 'sint32');

# A client. What its callback dies of may not leave it: Perl would print it and forget it. It is kept, and
# `check` dies of it when the call has come back.
package Client {
    use Scalar::Util qw(weaken);

    sub new ($class, $urls, $on_event) {
        my $self = bless {}, $class;
        weaken(my $weak = $self); # The closure is the client's, and must not hold it in turn.
        # Held as long as the client, or Perl would free what C calls.
        $self->{callback} = $ffi->closure(sub ($user, $event) {
            eval { $on_event->(main::event_name(main::event_kind($event))); 1 }
                or $weak->{raised} //= $@;
        });
        main::builder_new(\my $builder);
        # A setter that fails is told by build.
        main::builder_set($builder, base_urls => $urls);
        main::builder_on_event($builder, $self->{callback}, undef, undef);
        my $status = main::builder_build($builder, \$self->{client}, \my $error);
        main::builder_free($builder);
        die Error->take($error) if $status;
        return $self;
    }

    sub get ($self, $path) {
        my $status = main::get($self->{client}, $path, \my $response, \my $error);
        die Error->take($error) if $status;
        my %answer = (
            status => main::response_status($response),
            endpoint => main::response_endpoint($response),
        );
        for my $i (0 .. main::response_header_count($response) - 1) {
            main::response_header_at($response, $i, \my $name, \my $value, \my $size);
            my $key = $ffi->cast(opaque => 'string', $name);
            push @{ $answer{headers} }, [$key, main::buffer_to_scalar($value, $size)];
        }
        main::response_body($response, \my $bytes, \my $size, undef);
        $answer{body} = main::buffer_to_scalar($bytes, $size);
        main::response_free($response);
        return \%answer;
    }

    sub check ($self) {
        my $raised = delete $self->{raised};
        die $raised if defined $raised;
    }

    sub DESTROY ($self) { main::client_free($self->{client}) }
}

# What the library could not do.
package Error {
    sub take ($class, $error) {
        my $self = bless {
            message => main::error_message($error),
            status => main::status_name(main::error_status($error)),
            reason => main::reason_name(main::error_reason($error)),
            phase => main::phase_name(main::error_phase($error)),
            delivery => main::delivery_name(main::error_delivery($error)),
        }, $class;
        main::error_free($error);
        return $self;
    }
}

say 'anyhost ', version();

my @events;
my $answer = Client->new($urls, sub ($name) { push @events, $name })->get($path);
say "GET $path: $answer->{status} from $answer->{endpoint}";
say "$_->[0]: $_->[1]" for @{ $answer->{headers} };
say $answer->{body};
say "events: @events";

# Nobody listens there.
eval { Client->new('http://127.0.0.1:1', sub { })->get('/') };
my $failed = $@;
say "error: $failed->{status}, $failed->{reason} at $failed->{phase}, $failed->{delivery}";

my $client = Client->new($urls, sub { die "planted\n" });
$answer = $client->get($path);
eval { $client->check };
chomp(my $raised = $@);
say "raised by a callback: $raised, and the answer was $answer->{status}";
