// What of the conformance suite this server cannot pass, and why: it has four tools, and whatever else the suite asks
// for is what its own example server has. `scenario:check` excepts one check, `scenario` all that fail in it; the
// test wants each of them to fail, and nothing else. Warnings count as failures.
const TOOL = "calls a tool that only the suite's example server has";
const PROMPTS = 'no prompts are offered, and so none are declared';
const RESOURCES = 'no resources are offered, and so none are declared';
const COMPLETION = 'completes arguments of prompts and resource templates, of which there are none';
const LOGGING = 'nothing is logged to clients: the log is the administrator\'s';
const TASKS = 'an extension that is not declared: work that takes longer is asked after with view run';
const PARAM_HEADERS = 'no argument of a tool is wanted in a header (x-mcp-header)';

const of = (reason, scenarios) => Object.fromEntries(scenarios.map((scenario) => [scenario, reason]));

const inBoth = {
  ...of(TOOL, [
    'json-schema-2020-12',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-error',
    'tools-call-image',
    'tools-call-mixed-content',
    'tools-call-simple-text',
    'tools-call-with-progress',
  ]),
  ...of(PROMPTS, [
    'prompts-get-embedded-resource',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-with-image',
    'prompts-list',
  ]),
  ...of(RESOURCES, ['resources-list', 'resources-read-binary', 'resources-read-text', 'resources-templates-read']),
  ...of(COMPLETION, ['completion-complete']),
};

export const exceptions = {
  '2025-11-25': {
    ...inBoth,
    ...of(TOOL, [
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'tools-call-elicitation',
      'tools-call-sampling',
    ]),
    ...of(RESOURCES, ['resources-subscribe', 'resources-unsubscribe']),
    ...of(LOGGING, ['logging-set-level', 'tools-call-with-logging']),
  },
  '2026-07-28': {
    ...inBoth,
    ...of(TOOL, [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-list-roots',
      'input-required-result-basic-sampling',
      'input-required-result-capability-check',
      'input-required-result-ignore-extra-params',
      'input-required-result-missing-input-response',
      'input-required-result-multi-round',
      'input-required-result-multiple-input-requests',
      'input-required-result-request-state',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
      'server-stateless:sep-2575-missing-capability-http-400',
      'server-stateless:sep-2575-server-no-log-without-loglevel',
      'server-stateless:sep-2575-server-rejects-undeclared-capability',
    ]),
    ...of(PROMPTS, ['caching:sep-2549-prompts-list-caching-hints', 'input-required-result-non-tool-request']),
    ...of(RESOURCES, [
      'caching:sep-2549-resources-list-caching-hints',
      'caching:sep-2549-resources-templates-list-caching-hints',
      'sep-2164-resource-not-found:sep-2164-data-uri',
      'sep-2164-resource-not-found:sep-2164-error-code',
    ]),
    ...of(TASKS, [
      'tasks-capability-negotiation',
      'tasks-dispatch-and-envelope',
      'tasks-lifecycle',
      'tasks-mrtr-composition',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-request-state-removal',
      'tasks-required-task-error',
      'tasks-wire-fields',
    ]),
    ...of(PARAM_HEADERS, ['http-custom-header-server-validation']),
  },
};
