/*
 * mincut_keys.h: members of PyTorch's min_cut_information. Private to proto.
 */
#ifndef PROTO_MINCUT_KEYS_H
#define PROTO_MINCUT_KEYS_H

#define PROTO_KEY_SIZE       "Joint Graph Size"
#define PROTO_KEY_EDGES      "Joint Graph Edges"
#define PROTO_KEY_NODES      "Joint Graph Node Information"
#define PROTO_KEY_ORDER      "Recomputable Banned Nodes Order"
#define PROTO_KEY_KEPT       "Knapsack Saved Nodes"
#define PROTO_KEY_RECOMPUTED "Knapsack Recomputed Nodes"
#define PROTO_KEY_BYTES      "Absolute Memories"
#define PROTO_KEY_SHARES     "Knapsack Input Memories"
#define PROTO_KEY_RUNTIMES   "Knapsack Input Runtimes"
#define PROTO_KEY_SAVED      "Min Cut Solution Saved Values"

#endif
