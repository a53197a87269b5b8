(async () => {
  const { Filter } = await import('roost-filter');
  console.log(new Filter().add('swift') ? 'ok import() from CommonJS' : 'not ok import() from CommonJS');
})();
