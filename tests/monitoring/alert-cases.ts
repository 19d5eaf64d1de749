/** What Prometheus sees when an alert must fire, and when it must not. */

/** Values of one minute each, in promtool's words: `0+2x30` begins at 0 and grows by 2 for 30 minutes. */
export type Series = Readonly<Record<string, string>>

const node = 'job="kube-system/fairlead",instance="node1"'
const family = `${node},ip_family="IPv4"`

/** A histogram to which each minute adds one observation above, and none below, this bound. */
export function allAbove(name: string, bound: string, next: string): Series {
  return {
    [`${name}_bucket{${family},le="${bound}"}`]: '0x60',
    [`${name}_bucket{${family},le="${next}"}`]: '0+1x60',
    [`${name}_bucket{${family},le="+Inf"}`]: '0+1x60',
  }
}

/** What is seen for an hour: once the alert must be there in the end, once never. */
export const alertCases: Readonly<Record<string, { readonly fires: Series; readonly isQuiet: Series }>> = {
  FairleadDown: {
    fires: { [`up{${node}}`]: '1x50 0x10' },
    // A restart, and another job.
    isQuiet: { [`up{${node}}`]: '1x20 0x3 1x40', 'up{job="node-exporter",instance="node1"}': '0x60' },
  },
  FairleadAbsent: {
    fires: { [`up{${node}}`]: '0x60' },
    isQuiet: { [`fairlead_config_last_reload_successful{${node}}`]: '1x60' },
  },
  FairleadRestarts: {
    fires: { [`process_start_time_seconds{${node}}`]: '100x40 200x3 300x3 400x20' },
    isQuiet: { [`process_start_time_seconds{${node}}`]: '100x20 200x40' },
  },
  FairleadIsBusy: {
    fires: { [`nodejs_eventloop_lag_p99_seconds{${node}}`]: '2x60' },
    isQuiet: { [`nodejs_eventloop_lag_p99_seconds{${node}}`]: '0.01x20 3x5 0.01x40' },
  },
  FairleadSyncFails: {
    fires: { [`fairlead_sync_failures_total{${family}}`]: '0x40 1+2x20' },
    // One failure, and the retry works.
    isQuiet: { [`fairlead_sync_failures_total{${family}}`]: '0x20 1x40' },
  },
  FairleadSyncIsLate: {
    fires: {
      [`kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{${family}}`]: '60x40 2400x20',
      [`kubeproxy_sync_proxy_rules_last_timestamp_seconds{${family}}`]: '61x60',
    },
    // Nothing happens for an hour; then a change is programmed within a minute.
    isQuiet: {
      [`kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{${family}}`]: '60x50 3060x10',
      [`kubeproxy_sync_proxy_rules_last_timestamp_seconds{${family}}`]: '61x51 3061x9',
    },
  },
  FairleadChangesWait: {
    fires: { [`kubeproxy_sync_proxy_rules_endpoint_changes_pending{${node}}`]: '0x30 5x30' },
    isQuiet: {
      [`kubeproxy_sync_proxy_rules_endpoint_changes_pending{${node}}`]: '3 0 4 0 9 2 0 0 7 0 3 0 4 0 9 2 0 0 7 0',
      [`kubeproxy_sync_proxy_rules_service_changes_pending{${node}}`]: '0x60',
    },
  },
  FairleadSyncIsSlow: {
    fires: allAbove('kubeproxy_sync_proxy_rules_duration_seconds', '8.192', '16.384'),
    isQuiet: allAbove('kubeproxy_sync_proxy_rules_duration_seconds', '0.512', '1.024'),
  },
  FairleadProgrammingIsSlow: {
    fires: allAbove('kubeproxy_network_programming_duration_seconds', '59', '60'),
    isQuiet: allAbove('kubeproxy_network_programming_duration_seconds', '1', '2'),
  },
  FairleadRemovalIsSlow: {
    fires: allAbove('fairlead_endpoint_removal_seconds', '20', '30'),
    isQuiet: allAbove('fairlead_endpoint_removal_seconds', '1', '2'),
  },
  FairleadDriftRepeats: {
    fires: { [`fairlead_drift_total{${family}}`]: '0x20 0+1x40' },
    isQuiet: { [`fairlead_drift_total{${family}}`]: '0x20 1x20 2x20' },
  },
  FairleadLostApiServer: {
    fires: { [`fairlead_source_last_contact_seconds{${node},kind="Service"}`]: '10x40 60+60x20' },
    isQuiet: { [`fairlead_source_last_contact_seconds{${node},kind="Service"}`]: '10x20 60+60x10 10x30' },
  },
  FairleadListsFail: {
    fires: { [`fairlead_reflector_errors_total{${node},kind="Service",reason="forbidden"}`]: '0+1x60' },
    isQuiet: { [`fairlead_reflector_errors_total{${node},kind="Service",reason="expired"}`]: '0x20 1x20 2x20' },
  },
  FairleadLostCore: {
    fires: { [`fairlead_kpng_core_connected{${node}}`]: '1x40 0x20' },
    isQuiet: { [`fairlead_kpng_core_connected{${node}}`]: '1x40 0x3 1x17' },
  },
  FairleadCoreRefuses: {
    fires: { [`fairlead_kpng_clients_refused_total{${node},reason="too-slow"}`]: '0x50 1x10' },
    isQuiet: { [`fairlead_kpng_clients_refused_total{${node},reason="too-slow"}`]: '3x60' },
  },
  FairleadIgnoresObjects: {
    fires: { [`fairlead_object_problems_total{${node},kind="Service"}`]: '0x55 1x5' },
    isQuiet: { [`fairlead_object_problems_total{${node},kind="Service"}`]: '7x60' },
  },
  FairleadServiceNotices: {
    fires: { [`fairlead_service_notices{${family},reason="AddressInUse"}`]: '0x30 2x30' },
    isQuiet: { [`fairlead_service_notices{${family},reason="AddressInUse"}`]: '0x30 2x5 0x25' },
  },
  FairleadConfigRefused: {
    fires: { [`fairlead_config_last_reload_successful{${node}}`]: '1x40 0x20' },
    isQuiet: { [`fairlead_config_last_reload_successful{${node}}`]: '1x20 0x5 1x40' },
  },
  FairleadConfigWaits: {
    fires: { [`fairlead_config_pending_restart_fields{${node}}`]: '3x60' },
    isQuiet: { [`fairlead_config_pending_restart_fields{${node}}`]: '0x20 3x40' },
  },
  FairleadDialsFail: {
    fires: {
      [`fairlead_relay_dial_attempts_total{${node}}`]: '0+100x60',
      [`fairlead_relay_dial_failures_total{${node},reason="refused"}`]: '0+4x60',
      [`fairlead_relay_dial_failures_total{${node},reason="timeout"}`]: '0+4x60',
    },
    // One in a hundred; and a relay without any work.
    isQuiet: {
      [`fairlead_relay_dial_attempts_total{${node}}`]: '0+100x60',
      [`fairlead_relay_dial_failures_total{${node},reason="refused"}`]: '0+1x60',
      'fairlead_relay_dial_attempts_total{job="kube-system/fairlead",instance="node2"}': '5x60',
      'fairlead_relay_dial_failures_total{job="kube-system/fairlead",instance="node2",reason="refused"}': '5x60',
    },
  },
  FairleadRelayNearlyFull: {
    fires: {
      [`fairlead_relay_descriptors_used{${node}}`]: '0+20x60',
      [`fairlead_relay_descriptors_limit{${node}}`]: '1000x60',
    },
    isQuiet: {
      [`fairlead_relay_descriptors_used{${node}}`]: '0+10x60',
      [`fairlead_relay_descriptors_limit{${node}}`]: '1000x60',
    },
  },
  FairleadRelayOverloaded: {
    fires: { [`fairlead_relay_accept_drops_total{${node},protocol="TCP",reason="overload"}`]: '0x57 5x3' },
    isQuiet: { [`fairlead_relay_accept_drops_total{${node},protocol="TCP",reason="unreachable"}`]: '0+5x60' },
  },
}
