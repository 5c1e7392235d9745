/*
 * static_http.c: the least that libmicrohttpd can do, for comparison: takes any
 * request, reads its body, answers one and the same document.
 *
 *   static_http FILE      the first line on stdout is "listening on PORT"
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int has_begun; /* what a request's state points to */

static enum MHD_Result on_request(void *context,
                                  struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *data,
                                  size_t *n_bytes, void **state)
{
    struct MHD_Response *response = context;

    (void)url;
    (void)method;
    (void)version;
    (void)data;
    if (*state == NULL) {
        *state = &has_begun;
        return MHD_YES;
    }
    if (*n_bytes > 0) {
        *n_bytes = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

static char *read_file(const char *path, size_t *length)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    char *bytes;

    if (file == NULL || fstat(fileno(file), &status) != 0)
        return NULL;
    *length = (size_t)status.st_size;
    bytes = malloc(*length + 1);
    if (bytes != NULL && fread(bytes, 1, *length, file) != *length)
        bytes = NULL;
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    size_t length = 0;
    char *bytes = argc == 2 ? read_file(argv[1], &length) : NULL;

    if (bytes == NULL) {
        fprintf(stderr, "static_http: needs a file that can be read\n");
        return 2;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "application/json");
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request,
        response, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536,
        MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    printf("listening on %u\n", (unsigned)info->port);
    fflush(stdout);
    (void)getchar(); /* until whoever started it closes its input */
    MHD_stop_daemon(daemon);
    return 0;
}
