/** The console of a core: which nodes follow it, with real backends that come and go. */
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { FairleadProcess } from '../e2e/testing/fairlead-process.ts'
import { seriousViolations } from './testing/axe.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { WatchedPage } from './testing/watched-page.ts'

const objects = fileURLToPath(new URL('../../examples/web.yaml', import.meta.url))

describe.skipIf(whyNoChromium !== undefined)(`the console of a core${unlessChromium}`, () => {
  let browser: Browser
  let core: FairleadProcess
  let url: string
  let api: string

  beforeAll(async () => {
    const ports = await freePorts('api', 'page')
    url = `http://127.0.0.1:${ports.page}`
    api = `127.0.0.1:${ports.api}`
    core = new FairleadProcess([
      'file',
      'to-api',
      `--input=${objects}`,
      `--listen=tcp://${api}`,
      `--console-bind-address=127.0.0.1:${ports.page}`,
    ])
    await core.says('the console is served')
    browser = await launchChromium()
  })

  afterAll(async () => {
    await browser?.close()
    await core?.[Symbol.asyncDispose]()
  })

  function follower(name: string): FairleadProcess {
    return new FairleadProcess(['api', 'to-local', `--api=${api}`, `--node-name=${name}`])
  }

  test('a node that follows it appears with what it runs, and stays as gone when it has left', async () => {
    await using watched = await WatchedPage.open(browser, url)
    const { page } = watched
    await page.getByText('No node follows this core yet').waitFor()
    await using node = follower('worker-1')
    const row = page.getByRole('row').filter({ hasText: 'worker-1' })
    await row.getByText('up to date').waitFor()
    expect(await row.innerText()).toMatch(/fairlead \d/)
    node.send('SIGKILL')
    await row.getByText('gone').waitFor()
    await using __ = follower('worker-1')
    await row.getByText('up to date').waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    expect(watched.problems).toEqual([])
  })

  test('its page keeps nobody out', async () => {
    await using _ = follower('worker-2')
    for (const width of [1280, 360]) {
      await using watched = await WatchedPage.open(browser, url, { bypassCSP: true, viewport: { width, height: 800 } })
      const { page } = watched
      await page.getByRole('row').filter({ hasText: 'worker-2' }).getByText('up to date').waitFor()
      expect(await seriousViolations(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
  })
})
