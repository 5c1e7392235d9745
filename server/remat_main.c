/*
 * remat_main.c: the command line program remat. Picks the command and exits
 * with its code.
 */
#include <signal.h>
#include <string.h>

#include "cli.h"

static const char help_text[] =
    "remat: what does a training step save for its backward pass?\n"
    "\n"
    "Usage\n"
    "  remat plan FILE|-   the plan for a joint graph document (- is\n"
    "                      standard input), as rematd answers POST\n"
    "                      /v1/plans\n"
    "  remat frontier FILE|-\n"
    "                      the trade of saved bytes against recomputed FLOPs:\n"
    "                      plans, none better than another in both, as rematd\n"
    "                      answers POST /v1/frontier\n"
    "  remat tags FILE|-   the tags of a graph after passes over them:\n"
    "                      {\"tags\": {node: [tag, region or null]}}\n"
    "  remat ping [URL]    exit 0 when a rematd answers GET /livez there,\n"
    "                      4 when not. Default: the port of REMATD_LISTEN,\n"
    "                      else http://127.0.0.1:7433. A path in URL is asked\n"
    "                      for instead: http://127.0.0.1:7433/readyz\n"
    "  remat --help, remat --version\n"
    "\n"
    "Flags of plan, frontier and tags\n"
    "  --options JSON      options, laid over those of the document:\n"
    "                      '{\"recompute_views\": true}'\n"
    "  --passes JSON       passes, instead of those of the document\n"
    "  --format json|text  json (default): the document rematd answers;\n"
    "                      text (not tags): a report for people: what is\n"
    "                      saved, how large it is and why, what is\n"
    "                      recomputed\n"
    "  --timings           time by phase, nodes, steps, memory, on stderr\n"
    "  --max-body BYTES    refuse a larger document (takes K, M, G)\n"
    "  --max-nodes N       refuse a graph with more nodes\n"
    "  --max-steps N       give up after that much solver effort\n"
    "  --memory BYTES      give up beyond that much memory\n"
    "\n"
    "Exit code\n"
    "  0  done\n"
    "  1  bad input: a problem document on stderr names the place\n"
    "  2  usage\n"
    "  3  no plan is possible: the answer on stdout says why\n"
    "  4  gave up: deadline, step, size or memory limit, not built in\n"
    "     this version, no answer to ping; a problem document on stderr\n"
    "  5  internal error, or the answer could not be written\n"
    "\n"
    "Example\n"
    "  remat plan step.graph.json --format text\n";

static enum cli_exit print_text(const char *text)
{
    return cli_write(text, strlen(text)) ? CLI_DONE : CLI_INTERNAL;
}

static enum cli_exit refuse_unbuilt(const char *command)
{
    struct proto_problem problem = {0};

    proto_problem_set(&problem, PROTO_NOT_IMPLEMENTED, NULL,
                      "the command %s is not built in this version; plan, "
                      "frontier, tags and ping are",
                      command);
    return cli_problem_print(&problem);
}

static bool is_unbuilt(const char *command)
{
    static const char *const names[] = {"explain", "diff", "report"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(command, names[i]) == 0)
            return true;
    }
    return false;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a reader that left is a write error: exit 5 */
    proto_start();
    if (argc < 2)
        return cli_usage_error("which command?");
    if (wants_help(argc, argv))
        return print_text(help_text);
    if (strcmp(argv[1], "--version") == 0)
        return print_text("remat (" PROTO_ENGINE ")\n");
    if (strcmp(argv[1], "plan") == 0)
        return cli_plan(argc - 2, argv + 2);
    if (strcmp(argv[1], "tags") == 0)
        return cli_tags(argc - 2, argv + 2);
    if (strcmp(argv[1], "frontier") == 0)
        return cli_frontier(argc - 2, argv + 2);
    if (strcmp(argv[1], "ping") == 0)
        return cli_ping(argc - 2, argv + 2);
    if (is_unbuilt(argv[1]))
        return refuse_unbuilt(argv[1]);
    return cli_usage_error("unknown command %s", argv[1]);
}
