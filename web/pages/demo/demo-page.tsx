/** The demo: what a service proxy does, seen and tried. */
import { useSignal } from '@preact/signals'
import { Fragment } from 'preact'
import { useEffect } from 'preact/hooks'
import type { DemoState, Overview, ServiceDetail } from '../../../src/observe/console/wire.ts'
import { follow } from '../../live/live.ts'
import { DemoCluster } from './demo-cluster.tsx'
import { DemoServiceSection } from './demo-service.tsx'
import './demo.css'

const services = ['shop/web', 'shop/api', 'shop/echo', 'shop/closed']

export function DemoPage() {
  const state = useSignal<DemoState | undefined>(undefined)
  const source = useSignal<Overview['source'] | undefined>(undefined)
  const details = useSignal<ReadonlyMap<string, ServiceDetail>>(new Map())
  useEffect(() => {
    const ends = [
      follow('demo', 'demo', (data) => (state.value = data)),
      follow('overview', 'overview', (data) => (source.value = data.source)),
      ...services.map((key) => {
        const [namespace = '', name = ''] = key.split('/')
        return follow(`service/${namespace}/${name}`, 'service', (data) => {
          if (data.key === key) details.value = new Map(details.value).set(key, data)
        })
      }),
    ]
    return () => ends.forEach((end) => end())
  }, [state, source, details])

  const known = state.value
  if (known === undefined) return <p class="quiet">Waiting for the demo.</p>
  const present = services.flatMap((key) => known.services.filter((service) => service.key === key))
  return (
    <div class="demo">
      <p class="demo-intro">
        A <b>Service</b> is one steady address for programs that come and go: its replicas, or <b>endpoints</b>. On
        every node a <b>service proxy</b> sees to it that a connection to the address reaches an endpoint that can
        answer. Here a small shop runs for real on this machine. Clients ask it while you look, and the dots are their
        connections. <b>Break something, and watch what the proxy does.</b>
      </p>
      {present.map((service, index) => (
        <Fragment key={service.key}>
          <DemoServiceSection service={service} detail={details.value.get(service.key)} story={known.story} />
          {index === 0 && <DemoCluster state={known} source={source.value} />}
        </Fragment>
      ))}
    </div>
  )
}
