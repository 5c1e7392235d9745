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
    "  remat report FILE|- [-o FILE]\n"
    "                      the plan as one HTML file for people, with all it\n"
    "                      needs inside; to standard output without -o\n"
    "  remat explain FILE|- [NODE]\n"
    "                      the plan with every reason; of a node: what it is\n"
    "                      to the decision, why it is saved, recomputed or\n"
    "                      neither, and what forcing it would change.\n"
    "                      Without NODE, explain and report also take the\n"
    "                      min_cut_information of PyTorch's trace\n"
    "  remat diff FILE|- OTHER|-\n"
    "                      what two documents decide differently, nodes\n"
    "                      matched by name\n"
    "  remat diff FILE|- --what-if JSON\n"
    "                      what would move with other tags and options:\n"
    "                      '{\"tags\": {\"mm\": \"must_save\"}}'\n"
    "  remat tags FILE|-   the tags of a graph after passes over them:\n"
    "                      {\"tags\": {node: [tag, region or null]}}\n"
    "  remat export FILE|- --as FORMAT\n"
    "                      the decided graph for other tools:\n"
    "                      min-cut-information (PyTorch's trace), or its flow\n"
    "                      network as dot (Graphviz) or dimacs (solvers)\n"
    "  remat ping [URL]    exit 0 when a rematd answers GET /livez there,\n"
    "                      4 when not. Default: the port of REMATD_LISTEN,\n"
    "                      else http://127.0.0.1:7433. A path in URL is asked\n"
    "                      for instead: http://127.0.0.1:7433/readyz\n"
    "  remat --help, remat --version\n"
    "\n"
    "Flags of export\n"
    "  --as min-cut-information|dot|dimacs\n"
    "                      the format\n"
    "  --around NODE       only what is near that node (dot, dimacs)\n"
    "  --depth N           how near: edges of the network (default 2)\n"
    "\n"
    "Flags of diff\n"
    "  --what-if JSON      tags and options to change, instead of OTHER\n"
    "\n"
    "Flags of plan, frontier, report, explain, diff, tags, export\n"
    "  --options JSON      options, laid over those of the document:\n"
    "                      '{\"recompute_views\": true}'\n"
    "  --passes JSON       passes, instead of those of the document\n"
    "  --format json|text  json (default but in explain): the document\n"
    "                      rematd answers; text (plan, frontier, explain,\n"
    "                      diff): a report for people: what is saved, how\n"
    "                      large it is and why, what is recomputed\n"
    "  --output FILE       write to a file (report only); also -o FILE\n"
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
    "  4  gave up: deadline, step, size or memory limit, no answer to\n"
    "     ping; a problem document on stderr\n"
    "  5  internal error, or the answer could not be written\n"
    "\n"
    "Example\n"
    "  remat plan step.graph.json --format text\n";

static enum cli_exit print_text(const char *text)
{
    return cli_write(text, strlen(text)) ? CLI_DONE : CLI_INTERNAL;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static enum cli_exit run(int argc, char **argv)
{
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
    if (strcmp(argv[1], "report") == 0)
        return cli_report(argc - 2, argv + 2);
    if (strcmp(argv[1], "export") == 0)
        return cli_export(argc - 2, argv + 2);
    if (strcmp(argv[1], "explain") == 0)
        return cli_explain(argc - 2, argv + 2);
    if (strcmp(argv[1], "diff") == 0)
        return cli_diff(argc - 2, argv + 2);
    if (strcmp(argv[1], "ping") == 0)
        return cli_ping(argc - 2, argv + 2);
    return cli_usage_error("unknown command %s", argv[1]);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a reader that left is a write error: exit 5 */
    proto_start();
    return (int)run(argc, argv);
}
