/*
 * The endpoints and the clients of the ebpf benchmark, each in one thread:
 *
 *   peer serve PORT IP...              echoes TCP and UDP at these addresses until its input ends
 *   peer ask KIND MS PID PORT IP...    asks for so long and reports; PID is the server's, whose CPU time counts too
 *
 * Each prints one line of JSON when it is ready or done. A client that waits for an answer too long fails.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kept_sockets = 8, message_size = 64, patience_seconds = 5, most_events = 64, most_turns = 1 << 20 };

static struct sockaddr_in place(const char *ip, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	if (inet_pton(AF_INET, ip, &address.sin_addr) != 1)
		errx(1, "%s is not an address", ip);
	return address;
}

static int new_socket(int type)
{
	int fd = socket(AF_INET, type, 0);
	if (fd < 0)
		err(1, "socket");
	return fd;
}

/* Client and server share one processor: what they do to each other's caches is then the same in every case. */
static void stay_on_last_processor(void)
{
	cpu_set_t allowed, one;
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		err(1, "sched_getaffinity");
	int last = CPU_SETSIZE - 1;
	while (last > 0 && !CPU_ISSET(last, &allowed))
		last--;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		err(1, "sched_setaffinity");
}

/* --- the endpoints --- */

enum kind { listener, connection, datagrams, input };

static void watch(int poll, int fd, enum kind kind)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (unsigned long long)kind << 32 | (unsigned)fd };
	if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0)
		err(1, "epoll_ctl");
}

static void accept_one(int poll, int fd)
{
	int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
	if (accepted < 0)
		return;
	int on = 1;
	setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	watch(poll, accepted, connection);
}

static void echo_stream(int fd)
{
	char data[4096];
	ssize_t size = read(fd, data, sizeof data);
	if (size <= 0 || write(fd, data, size) != size)
		close(fd);
}

static void echo_datagram(int fd)
{
	char data[4096];
	struct sockaddr_in from;
	socklen_t length = sizeof from;
	ssize_t size = recvfrom(fd, data, sizeof data, 0, (struct sockaddr *)&from, &length);
	if (size >= 0)
		sendto(fd, data, size, 0, (struct sockaddr *)&from, length);
}

static void serve(const char *port, char **ips)
{
	int poll = epoll_create1(0);
	for (; *ips != NULL; ips++) {
		struct sockaddr_in address = place(*ips, port);
		int stream = new_socket(SOCK_STREAM | SOCK_NONBLOCK), udp = new_socket(SOCK_DGRAM | SOCK_NONBLOCK);
		if (bind(stream, (struct sockaddr *)&address, sizeof address) != 0 || listen(stream, 4096) != 0 ||
		    bind(udp, (struct sockaddr *)&address, sizeof address) != 0)
			err(1, "%s:%s", *ips, port);
		watch(poll, stream, listener);
		watch(poll, udp, datagrams);
	}
	watch(poll, STDIN_FILENO, input);
	printf("{\"pid\": %d}\n", getpid());
	fflush(stdout);
	for (;;) {
		struct epoll_event events[most_events];
		int count = epoll_wait(poll, events, most_events, -1);
		for (int i = 0; i < count; i++) {
			int fd = (int)events[i].data.u64;
			switch ((enum kind)(events[i].data.u64 >> 32)) {
			case listener: accept_one(poll, fd); break;
			case connection: echo_stream(fd); break;
			case datagrams: echo_datagram(fd); break;
			case input: return;
			}
		}
	}
}

/* --- the clients --- */

struct client {
	const struct sockaddr_in *places;
	int place_count, next_place;
	int sockets[kept_sockets];
	const struct sockaddr_in *asked[kept_sockets];
};

static const struct sockaddr_in *next_place(struct client *client)
{
	return &client->places[client->next_place++ % client->place_count];
}

static int open_socket(int type)
{
	int fd = new_socket(type);
	struct timeval patience = { .tv_sec = patience_seconds };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	int on = 1;
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void connect_to(int fd, const struct sockaddr_in *to)
{
	if (connect(fd, (const struct sockaddr *)to, sizeof *to) != 0)
		err(1, "connect");
}

static void expect_size(const char *what, ssize_t size, ssize_t wanted)
{
	if (size != wanted)
		err(1, "%s: %zd of %zd bytes", what, size, wanted);
}

/* Ends with a reset, so that no port has to wait before it can be used again. */
static int ask_anew(struct client *client)
{
	char byte = 'x';
	struct linger reset = { .l_onoff = 1 };
	int fd = open_socket(SOCK_STREAM);
	connect_to(fd, next_place(client));
	expect_size("send", send(fd, &byte, 1, 0), 1);
	expect_size("recv", recv(fd, &byte, 1, 0), 1);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	close(fd);
	return 1;
}

static void open_all(struct client *client, int type, int is_connected)
{
	for (int i = 0; i < kept_sockets; i++) {
		client->sockets[i] = open_socket(type);
		client->asked[i] = next_place(client);
		if (is_connected)
			connect_to(client->sockets[i], client->asked[i]);
	}
}

static int ask_connected(struct client *client)
{
	char data[message_size] = { 0 };
	for (int i = 0; i < kept_sockets; i++)
		expect_size("send", send(client->sockets[i], data, sizeof data, 0), sizeof data);
	for (int i = 0; i < kept_sockets; i++)
		expect_size("recv", recv(client->sockets[i], data, sizeof data, MSG_WAITALL), sizeof data);
	return kept_sockets;
}

static int ask_unconnected(struct client *client)
{
	char data[message_size] = { 0 };
	for (int i = 0; i < kept_sockets; i++) {
		const struct sockaddr_in *to = client->asked[i];
		ssize_t size = sendto(client->sockets[i], data, sizeof data, 0, (const struct sockaddr *)to, sizeof *to);
		expect_size("sendto", size, sizeof data);
	}
	for (int i = 0; i < kept_sockets; i++) {
		struct sockaddr_in from;
		socklen_t length = sizeof from;
		ssize_t size = recvfrom(client->sockets[i], data, sizeof data, 0, (struct sockaddr *)&from, &length);
		expect_size("recvfrom", size, sizeof data);
		if (from.sin_addr.s_addr != client->asked[i]->sin_addr.s_addr || from.sin_port != client->asked[i]->sin_port)
			errx(1, "the answer comes from somebody else");
	}
	return kept_sockets;
}

static double seconds(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now) != 0)
		err(1, "clock_gettime");
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int compare(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;
	return (difference > 0) - (difference < 0);
}

static void ask(const char *kind, int milliseconds, int server, struct client *client)
{
	int (*turn)(struct client *) = ask_connected;
	if (strcmp(kind, "connect") == 0)
		turn = ask_anew;
	else if (strcmp(kind, "kept") == 0)
		open_all(client, SOCK_STREAM, 1);
	else if (strcmp(kind, "connected-datagrams") == 0)
		open_all(client, SOCK_DGRAM, 1);
	else if (strcmp(kind, "datagrams") == 0)
		open_all(client, SOCK_DGRAM, 0), turn = ask_unconnected;
	else
		errx(1, "unknown kind %s", kind);

	clockid_t server_clock;
	if (clock_getcpuclockid(server, &server_clock) != 0)
		errx(1, "there is no server %d", server);
	double start = seconds(CLOCK_MONOTONIC), end = start + milliseconds / 1e3;
	/* The first part warms up; it does not count. */
	while (seconds(CLOCK_MONOTONIC) < start + milliseconds / 5e3)
		turn(client);
	static double took[most_turns];
	double from = seconds(CLOCK_MONOTONIC), now = from;
	double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds(server_clock);
	long done = 0, turns = 0;
	while (turns < most_turns && (turns == 0 || now < end)) {
		double before = now;
		done += turn(client);
		now = seconds(CLOCK_MONOTONIC);
		took[turns++] = now - before;
	}
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds(server_clock) - cpu;
	qsort(took, turns, sizeof *took, compare);
	printf("{\"perSecond\": %f, \"cpuUs\": %f, \"p50Us\": %f, \"p99Us\": %f}\n", done / (now - from), cpu * 1e6 / done,
	       took[turns / 2] * 1e6, took[turns * 99 / 100] * 1e6);
}

int main(int count, char **arguments)
{
	stay_on_last_processor();
	if (count >= 4 && strcmp(arguments[1], "serve") == 0) {
		serve(arguments[2], arguments + 3);
	} else if (count >= 7 && strcmp(arguments[1], "ask") == 0) {
		int place_count = count - 6;
		struct sockaddr_in *places = calloc(place_count, sizeof *places);
		for (int i = 0; i < place_count; i++)
			places[i] = place(arguments[6 + i], arguments[5]);
		struct client client = { .places = places, .place_count = place_count };
		ask(arguments[2], atoi(arguments[3]), atoi(arguments[4]), &client);
	} else {
		errx(1, "say what to do: serve PORT IP..., or ask KIND MS PID PORT IP...");
	}
}
