/*
 * config_print.h: the settings for people, on standard output.
 */
#ifndef SRV_CONFIG_PRINT_H
#define SRV_CONFIG_PRINT_H

#include <stdbool.h>

#include "config.h"

/* What --help, --version or --print-config asks for, as srv_config_read says;
 * nothing for any other result. False, and a message on stderr, when it cannot
 * be written. */
bool srv_config_print(const struct srv_config *config,
                      enum srv_config_result asked);

#endif
