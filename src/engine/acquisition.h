/*
 * A lock while it is being asked for: carries out what core/acquire wants.
 */
#ifndef RL_ENGINE_ACQUISITION_H
#define RL_ENGINE_ACQUISITION_H

#include "engine/operation.h"

void rl_acquisition_start(struct rl_operation *operation, const struct rl_acquire_config *config);
void rl_acquisition_event(struct rl_operation *operation, const struct rl_event *event);

#endif
