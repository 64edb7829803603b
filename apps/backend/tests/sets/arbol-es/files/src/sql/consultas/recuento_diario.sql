-- Totales del día por estado. Se usa para comparar con el informe de la víspera después de restaurar una copia.

SELECT
    date_trunc('day', creado_en AT TIME ZONE 'Europe/Madrid')::date AS dia,
    estado,
    count(*) AS envios,
    sum(importe_centimos) / 100.0 AS importe,
    count(DISTINCT comercio_id) AS comercios
FROM envios
WHERE creado_en >= now() - interval '7 days'
GROUP BY 1, 2
ORDER BY 1 DESC, 2;

-- Facturas emitidas en el mismo periodo, por serie.
SELECT
    substr(numero, 1, 1) AS serie,
    emitida_el,
    count(*) AS facturas,
    sum(total_centimos) / 100.0 AS total
FROM facturas
WHERE emitida_el >= current_date - 7
GROUP BY 1, 2
ORDER BY 2 DESC, 1;

-- Reservas activas por provincia: si faltan muchas, alguien las ha borrado.
SELECT provincia, count(*) AS activas
FROM reservas
WHERE activa
GROUP BY provincia
ORDER BY activas DESC;
