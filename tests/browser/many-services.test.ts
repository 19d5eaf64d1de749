/** 10,000 Services, and a hundred changes a second: the page goes on answering. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../e2e/testing/eventually.ts'
import { unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { LargeCluster, whyNoLargeCluster } from './testing/large-cluster.ts'
import { report } from './testing/report.ts'
import { WatchedPage } from './testing/watched-page.ts'

const services = 10_000
const changesPerSecond = 100
const seconds = 6
const why = whyNoChromium ?? whyNoLargeCluster
const skipped = whyNoChromium !== undefined ? unlessChromium : why === undefined ? '' : ` (skipped: ${why})`

describe.skipIf(why !== undefined)(`with 10,000 Services${skipped}`, () => {
  let cluster: LargeCluster

  beforeAll(async () => {
    cluster = await LargeCluster.start(services)
  })

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  test('a search finds what it should while one types', async () => {
    await using watched = await openList(cluster)
    const { page } = watched
    const status = page.locator('.grid-status')
    await page.getByLabel('Search Services').pressSequentially('backend-9999', { delay: 20 })
    await status.getByText(`1 of ${services.toLocaleString('en')} Services`).waitFor()
    await page.getByRole('link', { name: 'checkout-backend-9999' }).waitFor()
    await page.getByLabel('Search Services').fill('team-42 backend-1')
    await status.getByText(/^11 of /).waitFor()
    const times = await page.evaluate(() => performance.getEntriesByName('search').map(({ duration }) => duration))
    expect(times.length).toBeGreaterThan(10)
    report(`one of ${times.length} searches over ${services} Services took at most`, Math.max(...times))
    report('and half of them', times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0)
    expect(watched.problems).toEqual([])
  })

  test(`with ${changesPerSecond} changes a second one can scroll, search and open a Service`, async () => {
    await using watched = await openList(cluster)
    const { page } = watched
    await page.evaluate(() => {
      const longTasks: number[] = []
      Object.assign(globalThis, { longTasks })
      new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
        type: 'longtask',
      })
    })
    const cpuBefore = await cpuMs(cluster.daemonPid)
    const began = performance.now()
    const changing = cluster.server.change({ changes: changesPerSecond * seconds, pauseMs: 1000 / changesPerSecond })
    const grid = page.getByRole('grid', { name: 'Services' })
    await grid.focus()
    await page.keyboard.press('End')
    await page.getByRole('link', { name: 'checkout-backend-9999' }).waitFor()
    await page.keyboard.press('Home')
    const asked = performance.now()
    await page.getByLabel('Search Services').fill('backend-5000')
    await page.getByRole('link', { name: 'checkout-backend-5000' }).waitFor()
    report('among the changes a search was on the screen after', performance.now() - asked)
    await changing
    const cpu = ((await cpuMs(cluster.daemonPid)) - cpuBefore) / (performance.now() - began)
    const longTasks = await page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks)
    report(
      `in ${seconds} s of changes the page had ${longTasks.length} long tasks, the longest`,
      Math.max(0, ...longTasks),
    )
    report('the daemon, syncs and console together, used of each second', cpu * 1000)

    await page.getByRole('link', { name: 'checkout-backend-5000' }).click()
    await page.getByRole('heading', { level: 1, name: 'team-0/checkout-backend-5000' }).waitFor()
    expect(watched.problems).toEqual([])
  })
})

async function openList({ browser, url }: LargeCluster): Promise<WatchedPage> {
  // The daemon may still be starting.
  const watched = await eventually(() => WatchedPage.open(browser, `${url}/services`))
  await watched.page
    .locator('.grid-status')
    .getByText(`${services.toLocaleString('en')} Services`)
    .waitFor()
  return watched
}

/** User and system time of a process, which Linux counts in hundredths of a second. */
async function cpuMs(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
