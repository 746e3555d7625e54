/* A small Ethernet switch in user space, for hosts that are network namespaces on one machine.
 *
 *   switch RATE_MBIT DELAY_US NAMESPACE...
 *
 * In each namespace it makes a TAP device eth0.  Every port has a link of RATE in both directions and the path a
 * one-way DELAY (0 switches either off).  A frame occupies the sender's link, then the receiver's, overlapping (it is
 * passed on while it arrives).  Frames to one port leave in the order they were accepted, so a queue per port is
 * enough.  No loss, no limit of the queues.  Prints "ready" when the ports exist; ends with its standard input.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PORTS = 64, MOST_FRAME = 65536, OVERHEAD = 24, BURST = 32 };

struct frame {
    struct frame *next;
    double leaves; /* when it may be written to its port, ns */
    size_t length;
    unsigned char bytes[];
};

struct port {
    int tap;
    int known; /* whether `address` was learnt */
    unsigned char address[6];
    double sends_until, receives_until;
    struct frame *first, *last;
};

static struct port ports[MOST_PORTS];
static int count;
static double ns_per_byte, delay_ns;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int make_tap(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "/var/run/netns/%s", name);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) fail(path);
    close(space);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request;
    memset(&request, 0, sizeof request);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    snprintf(request.ifr_name, IFNAMSIZ, "eth0");
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
    return tap;
}

static void enqueue(struct port *to, const unsigned char *bytes, size_t length, double sent, double occupied) {
    struct frame *frame = malloc(sizeof *frame + length);
    if (frame == NULL) fail("malloc");
    to->receives_until += occupied;
    if (to->receives_until < sent) to->receives_until = sent;
    frame->leaves = to->receives_until + delay_ns;
    frame->length = length;
    frame->next = NULL;
    memcpy(frame->bytes, bytes, length);
    if (to->last) to->last->next = frame; else to->first = frame;
    to->last = frame;
}

static void forward(struct port *from, const unsigned char *bytes, size_t length) {
    double occupied = (double)(length + OVERHEAD) * ns_per_byte, now = now_ns();
    memcpy(from->address, bytes + 6, 6);
    from->known = 1;
    if (from->sends_until < now) from->sends_until = now;
    from->sends_until += occupied;
    struct port *only = NULL;
    for (int i = 0; i < count && !(bytes[0] & 1); i++)
        if (ports[i].known && memcmp(ports[i].address, bytes, 6) == 0) only = &ports[i];
    for (int i = 0; i < count; i++)
        if (&ports[i] != from && (only == NULL || only == &ports[i]))
            enqueue(&ports[i], bytes, length, from->sends_until, occupied);
}

static double deliver(void) { /* returns when the next frame is due, or -1 */
    double due = -1;
    for (int i = 0; i < count; i++) {
        struct port *port = &ports[i];
        while (port->first && port->first->leaves <= now_ns()) {
            struct frame *frame = port->first;
            if (write(port->tap, frame->bytes, frame->length) < 0 && errno == EAGAIN) break;
            port->first = frame->next;
            if (port->first == NULL) port->last = NULL;
            free(frame);
        }
        if (port->first && (due < 0 || port->first->leaves < due)) due = port->first->leaves;
    }
    return due;
}

int main(int arguments, char **words) {
    if (arguments < 4 || arguments - 3 > MOST_PORTS) {
        fprintf(stderr, "usage: switch RATE_MBIT DELAY_US NAMESPACE...\n");
        return 2;
    }
    double rate = atof(words[1]) * 1e6;
    ns_per_byte = rate > 0 ? 8e9 / rate : 0;
    delay_ns = atof(words[2]) * 1e3;
    count = arguments - 3;
    struct pollfd waits[MOST_PORTS + 1];
    for (int i = 0; i < count; i++) {
        ports[i].tap = make_tap(words[3 + i]);
        waits[i] = (struct pollfd){.fd = ports[i].tap, .events = POLLIN};
    }
    waits[count] = (struct pollfd){.fd = 0, .events = POLLIN};
    prctl(PR_SET_TIMERSLACK, 1);
    setpriority(PRIO_PROCESS, 0, -20); /* late frames would be our noise, not the network's delay */
    puts("ready");
    fflush(stdout);
    static unsigned char bytes[MOST_FRAME];
    for (;;) {
        double due = deliver();
        double wait = due < 0 ? 1e9 : due - now_ns();
        if (wait < 0) wait = 0;
        struct timespec limit = {(time_t)(wait / 1e9), (long)(wait - 1e9 * (double)(time_t)(wait / 1e9))};
        if (ppoll(waits, (nfds_t)count + 1, &limit, NULL) < 0 && errno != EINTR) fail("ppoll");
        if (waits[count].revents) return 0;
        for (int i = 0; i < count; i++)
            for (int n = 0; (waits[i].revents & POLLIN) && n < BURST; n++) {
                ssize_t length = read(ports[i].tap, bytes, sizeof bytes);
                if (length < 14) break;
                forward(&ports[i], bytes, (size_t)length);
            }
    }
}
